"""Whatever was recorded about quality: Q7."""


def inspect(db, *, id):
    """Show any proof, verification, eval case, eval run or anti-pattern with its place in the log.

    Example: kaizen Q7 --id @last
    """
    raise NotImplementedError
