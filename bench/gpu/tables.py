"""Each part's results as lines of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from figures import rate, ratio, share, size, table, time, times

Results = Mapping[str, Any]


def _device(results: Results) -> list[str]:
    bandwidth = results["memory_bytes_per_second"]
    version = results["driver_version"]
    rows = [["model", results["model"]], ["UUID", results["uuid"]], ["PCI address", results["pci_address"]],
            ["NUMA node", str(results["numa_node"])], ["copy engines", str(results["copy_engines"])],
            ["memory", f"{size(results['memory_bytes'])}, {size(results['free_bytes'])} free"],
            ["memory bandwidth by its clock", f"{bandwidth / 1e9:.0f} GB/s" if bandwidth else "not told"],
            ["CUDA of the driver", f"{version // 1000}.{version % 1000 // 10}"],
            ["finishing kernel", "loaded" if results["has_kernel"] else "none in this build (no nvcc of 12 or newer)"]]
    return table(["", ""], rows, figures=False)


def _tests(results: Results) -> list[str]:
    lines = [f"{len(results['passed'])} passed, {len(results['failed'])} failed, {len(results['skipped'])} skipped."]
    failed = [f"- **{name}** failed" for name in results["failed"]]
    skipped = [f"- {name}: skipped: {reason}" for name, reason in results["skipped"].items()]
    return [*lines, *([""] if failed or skipped else []), *failed, *skipped]


def _copies(results: Results) -> list[str]:
    beside = {row["bytes"]: row["seconds"] for row in results.get("beside_a_kernel", [])}
    rows = [[size(pinned["bytes"]), rate(pinned["bytes"], pinned["seconds"]),
             rate(pageable["bytes"], pageable["seconds"]),
             rate(pinned["bytes"], beside[pinned["bytes"]]) if pinned["bytes"] in beside else "-"]
            for pinned, pageable in zip(results["pinned"], results["pageable"])]
    smallest = results["smallest"]
    return [*table(["copies of", "page-locked", "pageable", "page-locked, beside a kernel"], rows), "",
            f"One byte: {times(smallest['device_seconds'])} on the device's clock, "
            f"{times(smallest['until_done_seconds'])} until the caller knows that it is there."]


def _calls(results: Results) -> list[str]:
    events, query = results["events"], results["query"]
    rows = [["record an event", times(events["record_seconds"])], ["wait for it", times(events["wait_seconds"])],
            ["query it", times(events["query_seconds"])],
            ["record, wait and query", times(events["record_wait_query_seconds"])]]
    if (launches := results.get("launches")) is not None:
        rows += [["launch a kernel", times(launches["call_seconds"])],
                 ["launch it until it is done", times(launches["until_done_seconds"])],
                 ["the same on the device's clock", times(launches["device_seconds"])]]
    return [*table(["", "the calling thread's time"], rows), "",
            f"cuEventQuery through the device seam and its table: {ratio(query['ratios'])} times what it takes called "
            f"directly ({times(query['direct_seconds'])})."]


def _memory(results: Results) -> list[str]:
    rows = [[size(row["bytes"]), row["pages"] + (f", {share(row['huge_share'])} on huge ones" if row["huge_share"] >= 0
                                                 and row["pages"] == "huge" else ""),
             times(row["fault_in_seconds"]) if row["faulted_in"] else "not faulted in", times(row["register_seconds"]),
             rate(row["bytes"], row["register_seconds"]), times(row["unregister_seconds"])]
            for row in results["registrations"]]
    lines = table(["bytes", "pages", "faulted in by one thread", "page-locked", "", "unlocked"], rows)
    buffers = results["fixed_buffers"]
    if buffers["io_uring"] != "there":
        return [*lines, "", f"io_uring's fixed buffers: not tried: io_uring is not there ({buffers['io_uring']})."]
    answers = [["memory that CUDA does not know", buffers["plain_memory"]],
               ["page-locked memory", buffers["page_locked_memory"]],
               ["page-locked after the ring took it", buffers["fixed_buffer_page_locked"]]]
    return [*lines, "", "As a fixed buffer of an io_uring:", "", *table(["", ""], answers, figures=False)]


def _finish(results: Results) -> list[str]:
    roof = results["memory_bytes_per_second"]
    rows = [[f"{row['type']}, {row['layout'].upper()}", times(row["seconds"]), rate(row["bytes"], row["seconds"]),
             share(row["bytes"] / median(row["seconds"]) / roof) if roof else "not told"]
            for row in results["kernels"]]
    return [f"{results['pictures']} pictures of 224 x 224 x 3, bytes read and written:", "",
            *table(["to", "a launch", "of memory", "of what its clock allows"], rows)]


def _prefetcher(results: Results) -> list[str]:
    batch, bare = results["batch_seconds"], results["bare_copy_seconds"]
    shares = [bare_one / batch_one for batch_one, bare_one in zip(batch, bare)]
    count = results["batch_bytes"]
    return [f"Batches of {size(count)} that cost nothing to fill, copied back to back: {rate(count, batch)}; bare "
            f"copies of the same size: {rate(count, bare)}; that is {ratio(shares)} of them."]


def _cold(results: Results) -> list[str]:
    names = {"context_seconds": "driver and context", "loader_seconds": "the loader is made, its memory page-locked",
             "first_batch_seconds": "first batch (64 pictures, float32) on the device",
             "second_batch_seconds": "second batch"}
    return table(["in a fresh process", "once"], [[words, time(results[key])] for key, words in names.items()])


def _loader(results: Results) -> list[str]:
    run = results["slow_consumer"]
    return [f"Batches of 64, float32, {run['workers']} workers, {run['device']}"
            f"{'' if run['pinned'] else ', **not page-locked**'}: {run['free_images_per_second']:.0f} images/s where "
            "they are taken as they come.", "",
            f"With {time(run['step_seconds'])} of work on the device for each batch, half of that rate: "
            f"{run['images_per_second']:.0f} images/s over {run['batches']} batches. Waited: "
            f"{share(run['stall_share'])} of the time, the device {share(run['device_stall_share'])}. The report says: "
            f"{run['verdict']}."]


def _train(results: Results) -> list[str]:
    rows = [[name, f"{run['images_per_second']:.0f}", f"{run['step_ms']:.1f} ms", share(run["busy_share"]),
             share(run["gap_share"]), share(run["stall_share"]) if "stall_share" in run else "-"]
            for name, run in results["loaders"].items()]
    tried = ", ".join(f"{count}: {value:.0f}/s" for count, value in results["loaders"]["torch"]["tried"].items())
    stoker = results["loaders"]["stoker"]
    return [f"{results['job']}; {results['seconds']:.0f} s each.", "",
            *table(["loader", "images/s", "a step", "kernels run", "gaps between them", "stall by its own report"],
                   rows), "",
            f"Stoker is {results['ratio']:.2f} times torch, whose workers were tried: {tried}. Stoker's "
            f"{stoker['workers']} threads; its report says: {stoker['verdict']}. The shares of kernels and gaps are "
            f"torch.profiler's, over {results['profiled_steps']} steps of their own."]


def _sanitizer(results: Results) -> list[str]:
    return [f"{results['errors']} errors.", *(f"- {finding}" for finding in results["findings"])]


TABLES: dict[str, Callable[[Results], list[str]]] = {
    "device": _device, "conformance": _tests, "copies": _copies, "calls": _calls, "memory": _memory,
    "finish": _finish, "prefetcher": _prefetcher, "cold": _cold, "loader": _loader, "torch": _tests, "train": _train,
    "sanitizer": _sanitizer,
}
