"""Run the tasks of a study on a Dask cluster. Workers simulate and return arrays; only the client writes."""

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

from feint.support import cluster
from feint.sweep.study import Study
from feint.sweep.task import Task, TaskResult, perform, work_of
from feint.version import versions


def run_study_on_cluster(
    study: Study, tasks: Iterable[Task], client: Any
) -> Generator[tuple[Task, TaskResult | Exception], None, None]:
    """Yield each task once, with its result or its error, as they finish; refuse workers of other versions."""
    ours, works = versions(), ((task, work_of(study, task)) for task in tasks)
    gone = "start one and run the sweep again: what is recorded stays."
    with closing(cluster.run_on_cluster(perform, works, client, gone)) as outcomes:
        for task, outcome in outcomes:
            if isinstance(outcome, TaskResult):
                cluster.check_versions(outcome.versions, ours)
            yield task, outcome
