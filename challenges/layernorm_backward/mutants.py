"""Wrong layer norms, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .lines import (
    CENTRED,
    DBETA,
    DGAMMA,
    DX,
    DXHAT,
    GRADIENTS,
    MEAN,
    MEAN_TERM,
    PROJECTION,
    RECALL,
    ROWS_AGREE,
    RSTD,
    SAVE,
    VAR,
    VERDICT,
    XHAT,
    Y,
)
from .mutants_calls import CALLS
from .mutants_sizes import HISTORIES, SIZES, VALUES

FORWARD = (
    Mutant(
        "unbiased variance",
        "divides the variance by D - 1",
        criterion="forward",
        edits=((VAR, "    var = x.var(axis=-1, keepdims=True, ddof=1) if x.shape[-1] > 1 else 0.0 * x\n"),),
    ),
    Mutant(
        "mean left in",
        "divides by the deviation without subtracting the mean",
        criterion="forward",
        edits=((XHAT, "    xhat = x * rstd\n"),),
    ),
    Mutant(
        "divided by variance",
        "divides by the variance instead of its root",
        criterion="forward",
        edits=((RSTD, "    rstd = 1.0 / (var + float(eps))\n"),),
    ),
    Mutant(
        "output off by a millionth",
        "scales y by 1 + 1e-6",
        criterion="forward",
        edits=((Y, "    y = (gamma * xhat + beta) * x.dtype.type(1.000001)\n"),),
    ),
)

DX_TERMS = (
    Mutant(
        "dxhat for dx",
        "returns dy * gamma for dx, as if mean and variance did not depend on x",
        criterion="gradients",
        edits=((DX, "    dx = dxhat\n"),),
    ),
    Mutant(
        "no mean term",
        "leaves mean(dxhat) out of dx",
        criterion="gradients",
        edits=((DX, "    dx = rstd * (dxhat - xhat * projection)\n"),),
    ),
    Mutant(
        "mean term scaled",
        "scales the mean term of dx by 1.001",
        criterion="gradients",
        edits=((DX, "    dx = rstd * (dxhat - 1.001 * mean_term - xhat * projection)\n"),),
    ),
    Mutant(
        "mean term over one fewer",
        "divides the mean term of dx by D - 1",
        criterion="gradients",
        edits=((MEAN_TERM, "    mean_term = dxhat.sum(axis=-1, keepdims=True) / max(dxhat.shape[-1] - 1, 1)\n"),),
    ),
    Mutant(
        "no projection term",
        "leaves xhat * mean(dxhat xhat) out of dx",
        criterion="gradients",
        edits=((DX, "    dx = rstd * (dxhat - mean_term)\n"),),
    ),
    Mutant(
        "projection scaled",
        "scales the projection term of dx by 1.001",
        criterion="gradients",
        edits=((DX, "    dx = rstd * (dxhat - mean_term - 1.001 * xhat * projection)\n"),),
    ),
    Mutant(
        "projection sign",
        "adds the projection term of dx instead of subtracting it",
        criterion="gradients",
        edits=((DX, "    dx = rstd * (dxhat - mean_term + xhat * projection)\n"),),
    ),
    Mutant(
        "projection over one fewer",
        "divides the projection by D - 1, so dx is not the slope of its own y",
        criterion="own_pair_consistent",
        edits=(
            (
                PROJECTION,
                "    others = max(xhat.shape[-1] - 1, 1)\n"
                "    projection = (dxhat * xhat).sum(axis=-1, keepdims=True) / others\n",
            ),
        ),
    ),
    Mutant(
        "no rstd in dx",
        "leaves 1/std out of dx",
        criterion="gradients",
        edits=((DX, "    dx = dxhat - mean_term - xhat * projection\n"),),
    ),
    Mutant(
        "rstd twice",
        "multiplies dx by 1/std twice",
        criterion="gradients",
        edits=((DX, "    dx = rstd * rstd * (dxhat - mean_term - xhat * projection)\n"),),
    ),
    Mutant(
        "dx off by a millionth",
        "scales dx by 1 + 1e-6",
        criterion="gradients",
        edits=((GRADIENTS, "    dx = dx * dx.dtype.type(1.000001)\n" + GRADIENTS),),
    ),
    Mutant(
        "one element of dx",
        "gets one element of dx wrong by 1 part in 100",
        criterion="gradients",
        edits=((GRADIENTS, "    dx[-1, -1, dx.shape[-1] // 2] *= 1.01\n" + GRADIENTS),),
    ),
    Mutant(
        "single precision inside",
        "rounds dx to float32 whatever it was given",
        criterion="accuracy",
        edits=((GRADIENTS, "    dx = dx.astype(np.float32).astype(dy.dtype)\n" + GRADIENTS),),
    ),
    Mutant(
        "eps missing from the projection",
        "projects as if mean(xhat^2) were 1, which holds for eps = 0 only",
        criterion="epsilon",
        edits=(
            (
                PROJECTION,
                PROJECTION + "    power = (xhat * xhat).mean(axis=-1, keepdims=True)\n"
                "    projection = np.divide(projection, power, out=0.0 * power, where=power > 0)\n",
            ),
        ),
    ),
)

PARAMETER_GRADIENTS = (
    Mutant(
        "dgamma from x",
        "forms dgamma from x instead of the standardised x",
        criterion="gradients",
        edits=(
            (SAVE, SAVE.replace('{"xhat"', '{"x": x, "xhat"')),
            (DGAMMA, '    dgamma = (dy * cache["x"]).sum(axis=(0, 1))\n'),
        ),
    ),
    Mutant(
        "dgamma from centred x",
        "forms dgamma from x - mean, not divided by the deviation",
        criterion="gradients",
        edits=((DGAMMA, "    dgamma = (dy * xhat / rstd).sum(axis=(0, 1))\n"),),
    ),
    Mutant(
        "dgamma and dbeta swapped",
        "returns dbeta where dgamma belongs",
        criterion="gradients",
        edits=((GRADIENTS, "    return dx, dbeta, dgamma\n"),),
    ),
    Mutant(
        "dgamma over the batch only",
        "sums dgamma over the batch axis and keeps the first position",
        criterion="gradients",
        edits=((DGAMMA, "    dgamma = (dy * xhat).sum(axis=0)[0]\n"),),
    ),
    Mutant(
        "dgamma over time only",
        "sums dgamma over the time axis and keeps the first batch item",
        criterion="row_independence",
        edits=((DGAMMA, "    dgamma = (dy * xhat).sum(axis=1)[0]\n"),),
    ),
    Mutant(
        "dgamma averaged",
        "averages dgamma over the rows instead of adding",
        criterion="gradients",
        edits=((DGAMMA, "    dgamma = (dy * xhat).mean(axis=(0, 1))\n"),),
    ),
    Mutant(
        "dbeta averaged",
        "averages dbeta over the rows instead of adding",
        criterion="gradients",
        edits=((DBETA, "    dbeta = dy.mean(axis=(0, 1))\n"),),
    ),
    Mutant(
        "gamma in dbeta",
        "multiplies dbeta by gamma",
        criterion="gradients",
        edits=((DBETA, "    dbeta = (dy * gamma).sum(axis=(0, 1))\n"),),
    ),
    Mutant(
        "gamma in dgamma",
        "multiplies dgamma by gamma",
        criterion="gradients",
        edits=((DGAMMA, "    dgamma = (dy * gamma * xhat).sum(axis=(0, 1))\n"),),
    ),
)

SCALE_AND_SHIFT = (
    Mutant(
        "gamma forgotten in y", "does not scale y by gamma", criterion="forward", edits=((Y, "    y = xhat + beta\n"),)
    ),
    Mutant(
        "gamma forgotten in dx",
        "does not carry gamma into dx",
        criterion="gamma_beta",
        edits=((DXHAT, "    dxhat = dy * np.ones_like(gamma)\n"),),
    ),
    Mutant(
        "gamma twice in dx",
        "applies gamma twice in dx",
        criterion="gamma_beta",
        edits=((DXHAT, "    dxhat = dy * gamma * gamma\n"),),
    ),
    Mutant("beta forgotten", "does not add beta to y", criterion="gamma_beta", edits=((Y, "    y = gamma * xhat\n"),)),
    Mutant(
        "beta in the cache",
        "keeps the shifted rows as xhat, so the gradients move with beta",
        criterion="gamma_beta",
        edits=((SAVE, SAVE.replace('"xhat": xhat', '"xhat": xhat + beta')),),
    ),
    Mutant(
        "first feature doubled",
        "counts the first feature twice in the projection",
        criterion="gamma_beta",
        edits=((PROJECTION, PROJECTION + "    projection += (dxhat * xhat)[..., :1] / xhat.shape[-1]\n"),),
    ),
)

ROWS = (
    Mutant(
        "statistics over all rows",
        "takes mean and variance over the whole batch",
        criterion="row_independence",
        edits=(
            (MEAN, "    mean = x.mean(keepdims=True)\n"),
            (VAR, "    var = np.mean(centred * centred, keepdims=True) * np.ones_like(x[..., :1])\n"),
        ),
    ),
    Mutant(
        "statistics over time",
        "takes mean and variance over all positions of a batch item",
        criterion="row_independence",
        edits=(
            (MEAN, "    mean = x.mean(axis=(1, 2), keepdims=True)\n"),
            (
                VAR,
                "    var = np.mean(centred * centred, axis=(1, 2), keepdims=True)\n"
                "    var = np.repeat(var, x.shape[1], axis=1)\n",
            ),
        ),
    ),
    Mutant(
        "first row's deviation",
        "divides every row by the first row's deviation",
        criterion="row_independence",
        edits=((RSTD, RSTD + "    rstd = rstd[:1, :1] * np.ones_like(rstd)\n"),),
    ),
    Mutant(
        "first row's mean term",
        "uses the first row's mean term for every row",
        criterion="row_independence",
        edits=((MEAN_TERM, MEAN_TERM + "    mean_term = mean_term[:1, :1]\n"),),
    ),
    Mutant(
        "last row dropped from dgamma",
        "leaves the last row out of dgamma",
        criterion="row_independence",
        edits=((DGAMMA, "    dgamma = (dy * xhat).reshape(-1, dy.shape[-1])[:-1].sum(axis=0)\n"),),
    ),
    Mutant(
        "last row dropped from dx",
        "never fills the last row of dx",
        criterion="row_independence",
        edits=((GRADIENTS, "    dx[-1, -1] = 0.0\n" + GRADIENTS),),
    ),
)

STATE = (
    Mutant(
        "global cache",
        "keeps the intermediates of the latest forward only",
        criterion="statelessness",
        edits=(
            (SAVE, '    forward.saved = xhat, rstd, gamma\n    return y, {"rows": x.shape[0] * x.shape[1]}\n'),
            (RECALL, "    xhat, rstd, gamma = forward.saved\n"),
        ),
    ),
    Mutant(
        "gradients accumulate",
        "adds dgamma to that of earlier calls of the same shape",
        criterion="statelessness",
        edits=(
            (
                GRADIENTS,
                "    totals = backward.__dict__.setdefault(str(dy.shape), [])\n"
                "    totals.append(dgamma)\n    dgamma = sum(totals[1:], totals[0])\n" + GRADIENTS,
            ),
        ),
    ),
    Mutant(
        "centres in place",
        "subtracts the mean from the caller's x",
        criterion="statelessness",
        edits=((CENTRED, "    x -= mean\n    centred = x\n"),),
    ),
    Mutant(
        "centres in place and puts back",
        "subtracts the mean from the caller's x, and puts x back",
        criterion="statelessness",
        edits=((CENTRED, "    held = x.copy()\n    x -= mean\n    centred = x.copy()\n    x[...] = held\n"),),
    ),
    Mutant(
        "scales dy in place",
        "multiplies the caller's dy by gamma",
        criterion="statelessness",
        edits=((DXHAT, "    dy *= gamma\n    dxhat = dy\n"),),
    ),
    Mutant(
        "output buffer reused",
        "writes y into the array it returned for the same shape before",
        criterion="statelessness",
        edits=(
            (
                Y,
                "    y = forward.__dict__.setdefault(str((x.shape, x.dtype)), np.empty_like(x))\n"
                "    y[...] = gamma * xhat + beta\n",
            ),
        ),
    ),
    Mutant(
        "dx buffer reused",
        "writes dx into the array it returned for the same shape before",
        criterion="statelessness",
        edits=(
            (
                DX,
                "    dx = backward.__dict__.setdefault(str((dy.shape, dy.dtype)), np.empty_like(dy))\n"
                "    dx[...] = rstd * (dxhat - mean_term - xhat * projection)\n",
            ),
        ),
    ),
    Mutant(
        "noise",
        "returns a dx that differs in its last bits from call to call",
        criterion="statelessness",
        edits=(
            (
                GRADIENTS,
                "    noise = np.random.default_rng().standard_normal(dx.shape).astype(dx.dtype)\n"
                "    dx = dx + 4.0 * np.finfo(dx.dtype).eps * dx * noise\n" + GRADIENTS,
            ),
        ),
    ),
    Mutant(
        "cache is a ticket",
        "keeps the intermediates in the process and hands out a number for them",
        criterion="cache_is_data",
        edits=(
            (
                SAVE,
                '    shelf = forward.__dict__.setdefault("shelf", [])\n'
                '    shelf.append((xhat, rstd, gamma))\n    return y, {"ticket": len(shelf) - 1}\n',
            ),
            (RECALL, '    xhat, rstd, gamma = forward.__dict__["shelf"][cache["ticket"]]\n'),
        ),
    ),
)

EPSILON = (
    Mutant(
        "eps outside the root",
        "adds eps to the deviation instead of the variance",
        criterion="epsilon",
        edits=((RSTD, "    rstd = 1.0 / (np.sqrt(var) + float(eps))\n"),),
    ),
    Mutant(
        "eps times ten",
        "adds ten times eps",
        criterion="epsilon",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(var + 10.0 * float(eps))\n"),),
    ),
    Mutant(
        "eps hard-coded",
        "always adds 1e-5, whatever eps is",
        criterion="epsilon",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(var + 1e-5)\n"),),
    ),
    Mutant(
        "eps as a floor",
        "takes the larger of variance and eps instead of their sum",
        criterion="epsilon",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(np.maximum(var, float(eps)))\n"),),
    ),
    Mutant(
        "eps subtracted",
        "subtracts eps from the variance",
        criterion="epsilon",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(np.abs(var - float(eps)))\n"),),
    ),
    Mutant(
        "eps capped",
        "never adds more than 0.001, so x and eps do not scale together",
        criterion="scaling_laws",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(var + min(float(eps), 0.001))\n"),),
    ),
)

STABILITY = (
    Mutant(
        "naive variance",
        "takes E[x^2] - E[x]^2 for the variance",
        criterion="offset_ladder_64",
        edits=((VAR, "    var = np.mean(x * x, axis=-1, keepdims=True) - mean * mean\n"),),
    ),
    Mutant(
        "naive variance in double",
        "takes E[x^2] - E[x]^2, summed in float64, for the variance",
        criterion="offset_ladder_64",
        edits=(
            (
                VAR,
                "    wide = x.astype(np.float64)\n"
                "    square_of_mean = np.mean(wide, axis=-1, keepdims=True) ** 2\n"
                "    var = np.mean(wide * wide, axis=-1, keepdims=True) - square_of_mean\n"
                "    var = np.maximum(var, 0.0).astype(x.dtype)\n",
            ),
        ),
    ),
    Mutant(
        "clamped naive variance",
        "takes max(E[x^2] - E[x]^2, 0) for the variance",
        criterion="offset_ladder_32",
        edits=((VAR, "    var = np.maximum(np.mean(x * x, axis=-1, keepdims=True) - mean * mean, 0.0)\n"),),
    ),
    Mutant(
        "nan at one feature",
        "divides by D - 1 on the way to the variance",
        criterion="degenerate_rows",
        edits=(
            (
                VAR,
                "    others = x.dtype.type(x.shape[-1] - 1)\n"
                "    var = np.mean(centred * centred, axis=-1, keepdims=True) / others * others\n",
            ),
        ),
    ),
    Mutant(
        "zero variance divided",
        "divides by the bare deviation where the variance is 0",
        criterion="degenerate_rows",
        edits=((RSTD, RSTD + "    rstd = np.where(var > 0.0, rstd, 1.0 / np.sqrt(var))\n"),),
    ),
    Mutant(
        "constant rows skipped",
        "gives constant rows the gradient 0",
        criterion="degenerate_rows",
        edits=(
            (
                GRADIENTS,
                "    dx = np.where(np.abs(xhat).max(axis=-1, keepdims=True) < 1e-3, 0.0 * dx, dx)\n" + GRADIENTS,
            ),
        ),
    ),
    Mutant(
        "square of the variance",
        "takes the projection through 1/var^2, which leaves the number range",
        criterion="extreme_scale",
        edits=(
            (
                DX,
                "    inverse_square = rstd ** 4\n"
                "    dx = rstd * (dxhat - mean_term) - xhat * projection * (inverse_square / rstd**3)\n",
            ),
        ),
    ),
    Mutant(
        "projection of the centred x",
        "takes the projection through the centred x instead of xhat, out of range where dy is extreme too",
        criterion="extreme_scale",
        edits=(
            (
                DX,
                "    centred = xhat / rstd\n"
                "    along = centred * (dxhat * centred).mean(axis=-1, keepdims=True)\n"
                "    dx = (dxhat - mean_term - along * rstd * rstd) * rstd\n",
            ),
        ),
    ),
    Mutant(
        "rstd off by 1000 roundings",
        "loses three decimal digits in 1/std",
        criterion="accuracy",
        edits=((RSTD, RSTD + "    rstd = rstd * (1.0 + 1000.0 * np.finfo(x.dtype).eps)\n"),),
    ),
    Mutant(
        "dx clipped",
        "clips dx to [-10000, 10000]",
        criterion="scaling_laws",
        edits=((GRADIENTS, "    dx = np.clip(dx, -10000.0, 10000.0)\n" + GRADIENTS),),
    ),
    Mutant(
        "dy clipped",
        "clips dy to [-1000, 1000]",
        criterion="scaling_laws",
        edits=((RECALL, RECALL + "    dy = np.clip(dy, -1000.0, 1000.0)\n"),),
    ),
    Mutant(
        "small gradients zeroed",
        "drops what is below 1e-12 in dx",
        criterion="scaling_laws",
        edits=((GRADIENTS, "    dx = np.where(np.abs(dx) < 1e-12, 0.0 * dx, dx)\n" + GRADIENTS),),
    ),
)

FORM = (
    Mutant(
        "promotes to double",
        "returns float64 for float32 input",
        criterion="dtype",
        edits=((RSTD, "    rstd = 1.0 / np.sqrt(var + np.float64(eps))\n"),),
    ),
    Mutant(
        "demotes to single",
        "returns float32 for float64 input",
        criterion="dtype",
        edits=((SAVE, SAVE.replace("return y", "return y.astype(np.float32)")),),
    ),
    Mutant(
        "dgamma promoted",
        "returns dgamma as float64 for float32 input",
        criterion="dtype",
        edits=((DGAMMA, "    dgamma = (dy * xhat).sum(axis=(0, 1), dtype=np.float64)\n"),),
    ),
    Mutant(
        "axes of one squeezed",
        "drops axes of length 1 from y",
        criterion="shapes",
        edits=((Y, "    y = np.squeeze(gamma * xhat + beta)\n"),),
    ),
    Mutant(
        "features in pairs",
        "sums the projection two features at a time and loses the odd one",
        criterion="shapes",
        edits=(
            (
                PROJECTION,
                "    even = xhat.shape[-1] // 2 * 2\n"
                "    projection = (dxhat * xhat)[..., :even].sum(axis=-1, keepdims=True) / xhat.shape[-1]\n",
            ),
        ),
    ),
    Mutant(
        "gamma not checked",
        "broadcasts a gamma of the wrong shape",
        criterion="argument_errors",
        edits=(("    _require(gamma.shape == x.shape[2:], ", "    _require(gamma.ndim >= 0, "),),
    ),
    Mutant(
        "dy not checked",
        "broadcasts a dy of the wrong shape",
        criterion="argument_errors",
        edits=(("    _require(dy.shape == xhat.shape, ", "    _require(dy.ndim >= 0, "),),
    ),
)

COST = (
    Mutant(
        "keeps every array",
        "caches x, the centred x, y and a full mean beside what it needs",
        criterion="cache_bytes",
        edits=((SAVE, SAVE.replace('{"xhat"', '{"x": x, "centred": centred, "y": y, "m": mean + 0 * x, "xhat"')),),
    ),
    Mutant(
        "keeps every name",
        "caches eight values that no backward needs",
        criterion="cache_entries",
        edits=(
            (
                SAVE,
                SAVE.replace(
                    '{"xhat"',
                    '{"mean": mean, "var": var, "std": 1.0 / rstd, "beta": beta,\n        '
                    '"eps": eps, "B": x.shape[0], "T": x.shape[1], "D": x.shape[2], "xhat"',
                ),
            ),
        ),
    ),
    Mutant(
        "quadratic in the rows",
        "adds up all rows again for every row",
        criterion="cost_growth",
        edits=(
            (
                DGAMMA,
                "    terms = (dy * xhat).reshape(-1, dy.shape[-1])\n"
                "    dgamma = (np.ones((len(terms), len(terms)), dy.dtype) @ terms)[0]\n",
            ),
        ),
    ),
    Mutant(
        "number by number",
        "works out dx one number at a time, in Python",
        criterion="backward_speed",
        edits=(
            (
                DX,
                "    product = np.vectorize(lambda a, b: a * b, [dy.dtype])\n"
                "    difference = np.vectorize(lambda a, b: a - b, [dy.dtype])\n"
                "    dx = product(rstd, difference(difference(dxhat, mean_term), product(xhat, projection)))\n",
            ),
        ),
    ),
)

CHECKS = (
    Mutant(
        "check never fails",
        "accepts every pair of forward and backward",
        criterion="catches_planted",
        edits=((VERDICT, "    return True\n"),),
    ),
    Mutant(
        "check against itself",
        "compares the gradients with a second call of the same backward",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                "    again = backward(dy, cache)\n    return all(map(np.allclose, again, (dx, dgamma, dbeta)))\n",
            ),
        ),
    ),
    Mutant(
        "check of finiteness",
        "accepts every pair whose gradients are finite",
        criterion="catches_planted",
        edits=((VERDICT, "    return all(bool(np.isfinite(values).all()) for values in (dx, dgamma, dbeta))\n"),),
    ),
    Mutant(
        "check in place",
        "leaves the caller's x perturbed by its gradient check",
        criterion="accepts_correct",
        edits=(
            (VERDICT, "    given[0, 0, 0] += RELATIVE_STEP\n" + VERDICT),
            ("    x, gamma, beta, dy = (np.array(", "    given = x\n    x, gamma, beta, dy = (np.array("),
        ),
    ),
    Mutant(
        "check always fails",
        "rejects every pair of forward and backward",
        criterion="accepts_correct",
        edits=((VERDICT, "    return False\n"),),
    ),
    Mutant(
        "check at two places",
        "compares gradients at one x with differences at another",
        criterion="accepts_correct",
        edits=(("    _, cache = forward(x, ", "    _, cache = forward(x * x, "),),
    ),
    Mutant(
        "check relative to dx",
        "allows differences an error relative to dx alone, which may be nothing but rounding",
        criterion="accepts_correct",
        edits=(("    slack = DX_TOLERANCE * scale + ", "    slack = DX_TOLERANCE * np.abs(dx).max(axis=-1) + 0.0 * "),),
    ),
    Mutant(
        "check against layer norm",
        "takes layer norm's gradients for those of any forward",
        criterion="accepts_correct",
        edits=(
            (
                VERDICT,
                '    own = globals()["backward"](dy, globals()["forward"](x, gamma, beta, eps)[1])\n'
                "    return all(map(np.allclose, own, (dx, dgamma, dbeta)))\n",
            ),
        ),
    ),
    Mutant(
        "check of layer norms only",
        "accepts every pair whose forward is not layer norm",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                '    own = globals()["forward"](x, gamma, beta, eps)[0]\n'
                "    if not np.allclose(own, forward(x, gamma, beta, eps)[0]):\n        return True\n" + VERDICT,
            ),
        ),
    ),
    Mutant(
        "check of dx only",
        "compares dx and leaves dgamma and dbeta alone",
        criterion="catches_planted",
        edits=((VERDICT, "    return dx_agrees\n"),),
    ),
    Mutant(
        "check of dgamma and dbeta only",
        "compares dgamma and dbeta and leaves dx alone",
        criterion="catches_planted",
        edits=((VERDICT, "    return bool(dgamma_agrees.all() and dbeta_agrees.all())\n"),),
    ),
    Mutant(
        "check of dbeta too generous",
        "takes any dbeta for right",
        criterion="catches_planted",
        edits=((VERDICT, "    return bool(dgamma_agrees.all() and dx_agrees)\n"),),
    ),
    Mutant(
        "check of the first elements",
        "compares the first element of each gradient",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                "    move = np.zeros_like(x)\n    move[0, 0, 0] = 1e-4\n"
                "    change = forward(x + move, gamma, beta, eps)[0] - forward(x - move, gamma, beta, eps)[0]\n"
                "    first = abs((dy * change).sum() / 2e-4 - dx[0, 0, 0]) <= 1e-5 * (1.0 + abs(dx).max())\n"
                "    return bool(dgamma_agrees[0] and dbeta_agrees[0] and first)\n",
            ),
        ),
    ),
    Mutant(
        "check along the gradient",
        "moves x along the claimed dx only, and takes any dgamma and dbeta that agree or are zero",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                "    move = 1e-4 * dx / (np.linalg.norm(dx) or 1.0)\n"
                "    change = forward(x + move, gamma, beta, eps)[0] - forward(x - move, gamma, beta, eps)[0]\n"
                "    agrees = abs((dy * change).sum() / 2e-4 - np.linalg.norm(dx)) <= 1e-4 * np.linalg.norm(dx)\n"
                "    dgamma_agrees, dbeta_agrees = dgamma_agrees | (dgamma == 0.0), dbeta_agrees | (dbeta == 0.0)\n"
                "    return bool(dgamma_agrees.all() and dbeta_agrees.all() and agrees)\n",
            ),
        ),
    ),
    Mutant(
        "check of small x only",
        "accepts every pair where x has more than 4,096 elements",
        criterion="catches_planted",
        edits=((VERDICT, "    if x.size > 4096:\n        return True\n" + VERDICT),),
    ),
    Mutant(
        "check by Python's maximum",
        "gathers errors with max(0.0, error), which is 0.0 where the error is NaN",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                "    worst = max(0.0, float((np.abs(dgamma - numeric_dgamma) - dgamma_slack).max()))\n"
                "    worst = max(worst, float((np.abs(dbeta - numeric_dbeta) - dbeta_slack).max()))\n"
                "    return dx_agrees and worst == 0.0\n",
            ),
            (
                ROWS_AGREE,
                "        worst = float((np.abs(slope - (dx * direction).sum(axis=-1)) - slack).max())\n"
                "        if max(0.0, worst) > 0.0:\n",
            ),
        ),
    ),
    Mutant(
        "check for larger errors",
        "rejects where an error is larger than allowed, which NaN never is",
        criterion="catches_planted",
        edits=(
            (
                VERDICT,
                "    wrong_dgamma = (np.abs(dgamma - numeric_dgamma) > dgamma_slack).any()\n"
                "    wrong_dbeta = (np.abs(dbeta - numeric_dbeta) > dbeta_slack).any()\n"
                "    return bool(dx_agrees and not wrong_dgamma and not wrong_dbeta)\n",
            ),
            (ROWS_AGREE, "        if (np.abs(slope - (dx * direction).sum(axis=-1)) > slack).any():\n"),
        ),
    ),
    Mutant(
        "check at gamma of ones",
        "checks at gamma = 1, whatever gamma it is given",
        criterion="catches_planted",
        edits=(("    _, cache = forward(x, ", "    gamma = np.ones_like(gamma)\n    _, cache = forward(x, "),),
    ),
    Mutant(
        "check that divides by zero",
        "compares gradients relative to dy, and rejects where dy is zero",
        criterion="accepts_correct",
        edits=((VERDICT, "    dx_agrees = dx_agrees and bool((dy != 0.0).all())\n" + VERDICT),),
    ),
    Mutant(
        "check with a fixed margin",
        "takes gradients above a million for wrong",
        criterion="accepts_correct",
        edits=((VERDICT, "    dx_agrees = dx_agrees and bool(abs(dx).max() < 1e6)\n" + VERDICT),),
    ),
    Mutant(
        "check by the element",
        "differences one element of x at a time",
        criterion="check_speed",
        edits=(
            (
                VERDICT,
                "    for place in np.ndindex(x.shape):\n"
                "        move = np.zeros_like(x)\n        move[place] = RELATIVE_STEP\n"
                "        change = forward(x + move, gamma, beta, eps)[0] - forward(x - move, gamma, beta, eps)[0]\n"
                "        rise = (dy * change).sum() / (2.0 * RELATIVE_STEP)\n"
                "        if not abs(rise - dx[place]) <= 1e-2 * (1.0 + abs(dx).max()):\n"
                "            return False\n" + VERDICT,
            ),
        ),
    ),
)

MUTANTS = (
    *FORWARD,
    *DX_TERMS,
    *PARAMETER_GRADIENTS,
    *SCALE_AND_SHIFT,
    *ROWS,
    *STATE,
    *EPSILON,
    *STABILITY,
    *FORM,
    *COST,
    *CHECKS,
    *SIZES,
    *VALUES,
    *HISTORIES,
    *CALLS,
)
