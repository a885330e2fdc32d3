"""What a write costs Spark: its jobs, and the rows that it shuffles, as Spark itself counts them."""

from dataclasses import dataclass

_STEPS = ("make keys", "find keys", "plan", "write files")


@dataclass(frozen=True)
class Ran:
    """Jobs by the step that they are described by, and the rows that stages shuffle."""

    jobs: tuple[str, ...]
    shuffled: tuple[tuple[str, int, int], ...]
    """What each stage is described by, its rows and bytes."""
    collected_bytes: int
    """The results of all tasks."""

    def wide(self, row_bytes):
        """Return the rows of each stage before the commit that shuffles rows of so many bytes or more."""
        wide = [(job, rows) for job, rows, size_bytes in self.shuffled if size_bytes >= rows * row_bytes]
        return [rows for job, rows in wide if any(step in job for step in _STEPS)]

    def of(self, step):
        """Return how many jobs a step has."""
        return sum(step in job for job in self.jobs)


def ran(spark, work):
    """Do some work, and return what Spark ran for it; of a classic session."""
    context = spark.sparkContext._jsc.sc()
    first = {job.jobId() for job in _all(context.statusStore().jobsList(None))}
    work()
    context.listenerBus().waitUntilEmpty()
    store = context.statusStore()
    jobs = [job for job in _all(store.jobsList(None)) if job.jobId() not in first]
    named = {job: job.description().get() if job.description().isDefined() else "" for job in jobs}
    stages = {number: name for job, name in named.items() for number in _all(job.stageIds())}
    done = [(name, store.lastStageAttempt(number)) for number, name in stages.items()]
    done = [(name, stage) for name, stage in done if str(stage.status()) == "COMPLETE"]
    return Ran(
        jobs=tuple(named.values()),
        shuffled=tuple(
            (name, stage.shuffleWriteRecords(), stage.shuffleWriteBytes())
            for name, stage in done
            if stage.shuffleWriteRecords()
        ),
        collected_bytes=sum(stage.resultSize() for _, stage in done),
    )


def _all(found):
    return [found.apply(place) for place in range(found.size())]
