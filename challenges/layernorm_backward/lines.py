"""Lines of the reference that mutants and variants exchange, each of which occurs there once."""

MEAN = "    mean = x.mean(axis=-1, keepdims=True)\n"
CENTRED = "    centred = x - mean\n"
VAR = "    var = np.mean(centred * centred, axis=-1, keepdims=True)\n"
RSTD = "    rstd = 1.0 / np.sqrt(var + float(eps))\n"
XHAT = "    xhat = centred * rstd\n"
Y = "    y = gamma * xhat + beta\n"
SAVE = '    return y, {"xhat": xhat, "rstd": rstd, "gamma": gamma}\n'
RECALL = '    xhat, rstd, gamma = cache["xhat"], cache["rstd"], cache["gamma"]\n'
DGAMMA = "    dgamma = (dy * xhat).sum(axis=(0, 1))\n"
DBETA = "    dbeta = dy.sum(axis=(0, 1))\n"
DXHAT = "    dxhat = dy * gamma\n"
MEAN_TERM = "    mean_term = dxhat.mean(axis=-1, keepdims=True)\n"
PROJECTION = "    projection = (dxhat * xhat).mean(axis=-1, keepdims=True)\n"
DX = "    dx = rstd * (dxhat - mean_term - xhat * projection)\n"
GRADIENTS = "    return dx, dgamma, dbeta\n"
REQUIRE = "def _require(condition: bool, complaint: str) -> None:\n"
VERDICT = "    return bool(dgamma_agrees.all() and dbeta_agrees.all() and dx_agrees)\n"
