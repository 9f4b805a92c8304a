"""Probes of traffic: bytes, sectors and wavefronts as the device counts them, launch by launch.

Counts are exact and the same on every run; no time is measured. The figures feed claims by their names.
"""

from harness.probing import Answer, Draw, NotMeasurable, Partial, ProbeFailure, expect, probe
from harness.probing.traffic import (
    Steps,
    allocated_bytes,
    buffer_traffic,
    conflict_factor,
    graded,
    moved_bytes,
    sector_factor,
    written_bytes,
)

from .binding import Launched, launch, normal, served, watch
from .judging import same_work

VOCAB = 50257
ROWS = 2
K = 50
FLOAT = 4
GIVEN = 1
"""Number of the stream that is passed: the first that is made, before the answer is called."""
SCRATCH_SHARE = 1 / 8
"""Most that may be written or allocated besides the outputs, in bytes of the logits."""

PASSES: Steps = ((1.02, 1.0), (2.02, 0.6), (3.02, 0.3), (4.02, 0.1))
"""Credit by the times the logits are read: the contract asks for as few as can be."""
WRITTEN: Steps = ((1.0, 1.0), (2.0, 0.9), (8.0, 0.6), (20.0, 0.3))
"""Credit by the bytes written over those of the outputs."""
SECTORS: Steps = ((1.25, 1.0), (1.6, 0.8), (2.1, 0.5), (4.1, 0.2))
"""Credit by sectors over the fewest possible: rows of odd length read by whole warps come to 1.22, by float4 to 1."""
CONFLICTS: Steps = ((2.0, 1.0), (3.0, 0.7), (8.0, 0.3))
"""Credit by wavefronts over the fewest possible: a network of pairs or a padded heap stays below 2."""
NAIVE: Steps = ((0.4, 1.0), (0.7, 0.7), (0.95, 0.3))
"""Credit by the bytes moved over those of a softmax (read, written) and a top-k on it (read): one pass is 1/3."""


@probe(k=K, fixed=("k",), traced=False)
def the_logits_are_read_once(answer: Answer, draw: Draw, *, k: int) -> Partial:
    """Bytes of logits read over their size; one pass earns all, each further one costs."""
    run = _counted(answer, draw, k)
    traffic = buffer_traffic(run.report, "logits")
    passes = traffic.read_bytes / run.logits.nbytes
    figures = {"global_read_passes": round(passes, 4), "bytes_read_per_row": traffic.read_bytes / run.rows}
    expect.that(traffic.unique_read_bytes >= run.logits.nbytes, "part of the logits is never read",
                f"{traffic.unique_read_bytes} of {run.logits.nbytes} bytes are", **figures)  # fmt: skip
    detail = f"k = {run.k}: they are read {passes:.4g} times"
    return graded(passes, PASSES, "the logits are read too often", detail, figures)


@probe({"k": 8}, {"k": K}, traced=False, fixed=("k",))
def little_more_than_the_outputs_is_written(answer: Answer, draw: Draw, *, k: int) -> Partial:
    """Bytes written to global memory over those of the outputs, k probabilities and k indices a row."""
    run = _counted(answer, draw, k)
    written, outputs = written_bytes(run.report), run.probs.nbytes + run.indices.nbytes
    figures = {"bytes_written_per_row": written / run.rows, "written_over_outputs": round(written / outputs, 4)}
    detail = f"k = {run.k}: {written / run.rows:.6g} bytes a row are written; the outputs are {outputs // run.rows}"
    return graded(written / outputs, WRITTEN, "far more than the outputs is written", detail, figures)


@probe(k=K, fixed=("k",), traced=False)
def nothing_of_the_logits_size_is_written(answer: Answer, draw: Draw, *, k: int) -> dict[str, float]:
    """T28: what is written or allocated besides the outputs stays under 1/8 of the logits."""
    run = _counted(answer, draw, k)
    limit = SCRATCH_SHARE * run.logits.nbytes
    written = written_bytes(run.report) - run.probs.nbytes - run.indices.nbytes
    fetched = sum(copy.bytes for copy in run.report.streams.copies if copy.direction == "d2h")
    peak = allocated_bytes(run.report)
    figures = {"scratch_bytes": float(peak), "scratch_written_over_logits": round(written / run.logits.nbytes, 6)}
    shares = f"besides the outputs; the logits have {run.logits.nbytes}, at most 1/8 of that passes"
    title = "an intermediate result of the logits' size goes to global memory"
    expect.that(written < limit, title, f"{written} bytes are written {shares}", **figures)
    expect.that(peak < limit, title, f"{peak} bytes are allocated {shares}", **figures)
    expect.that(fetched < limit, "the logits are fetched to the host", f"{fetched} bytes are copied there", **figures)
    return figures


@probe({"k": 8}, {"k": 256}, traced=False, fixed=("k",))
def warps_read_whole_sectors(answer: Answer, draw: Draw, *, k: int) -> Partial:
    """Sectors that reads of global memory move, over the fewest that hold as many bytes."""
    run = _counted(answer, draw, k)
    factor = sector_factor(run.report)
    figures = {"load_sectors_over_ideal": round(factor, 4)}
    detail = f"k = {run.k}: {factor:.4g} times the sectors needed are moved"
    return graded(factor, SECTORS, "reads are not coalesced", detail, figures)


@probe({"k": 8}, {"k": 256}, traced=False, fixed=("k",))
def shared_memory_has_few_bank_conflicts(answer: Answer, draw: Draw, *, k: int) -> Partial:
    """Wavefronts of shared loads and stores by several lanes over the fewest possible; 1 where there are none."""
    run = _counted(answer, draw, k)
    report, factor = run.report, conflict_factor(run.report)
    figures = {
        "bank_conflict_factor": round(factor, 4),
        "shared_bytes_per_block": float(max(n.static_shared + n.dynamic_shared for n in report.launches)),
    }
    detail = f"k = {run.k}: its requests by several lanes take {factor:.4g} times the wavefronts needed"
    return graded(factor, CONFLICTS, "shared memory is held up by bank conflicts", detail, figures)


@probe({"k": 8}, {"k": K}, traced=False, fixed=("k",))
def less_is_moved_than_the_naive_way(answer: Answer, draw: Draw, *, k: int) -> Partial:
    """Bytes read and written over those of a softmax written out and a top-k on it: 12 a logit, at the least."""
    run = _counted(answer, draw, k)
    moved, naive = moved_bytes(run.report), 3 * run.logits.nbytes + run.probs.nbytes + run.indices.nbytes
    figures = {"bytes_moved_per_row": moved / run.rows, "naive_traffic_ratio": round(naive / max(moved, 1), 4)}
    detail = f"k = {run.k}: {moved / naive:.4g} times the naive way's bytes are moved"
    return graded(moved / naive, NAIVE, "as much is moved as the naive way does", detail, figures)


@probe({"vocab": 300, "k": 5}, {"vocab": VOCAB, "k": K}, traced=False, fixed=("vocab", "k"))
def work_is_put_on_the_given_stream(answer: Answer, draw: Draw, *, vocab: int, k: int) -> None:
    """Every launch and copy is on the stream that was passed, not on the default one."""
    k = served(answer, k)
    report = watch(answer, draw, normal(draw, ROWS, vocab), k, mode="count")
    strays = sorted({n.kernel for n in report.launches if n.stream == 0})
    expect.that(not strays, "work is put on the default stream", f"launched on it: {', '.join(strays)}")
    copies = [copy for copy in report.streams.copies if copy.stream == 0]
    detail = ", ".join(f"{copy.bytes} bytes {copy.direction}" for copy in copies[:3])
    expect.that(not copies, "copies are put on the default stream", detail)
    expect.that(len({n.stream for n in report.launches}) == 1, "work is put on several streams")
    others = {n.stream for n in report.launches} | {copy.stream for copy in report.streams.copies}
    expect.that(others == {GIVEN}, "work is put on another stream than the one given")


def _counted(answer: Answer, draw: Draw, k: int) -> Launched:
    logits, k = normal(draw, ROWS, VOCAB), served(answer, k)

    def counted() -> Launched:
        run = launch(answer, draw, logits, k, mode="count", fill="nan")
        if not run.report.launches:
            raise ProbeFailure("nothing is launched", f"vocab = {VOCAB}, k = {k}")
        return run

    run = same_work(counted, lambda: launch(answer, draw, logits, k, fill="nan"))
    if run.report.truncated:
        raise NotMeasurable("there are more launches than the device counts")
    return run
