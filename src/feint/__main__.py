"""The `feint` command, also as `python -m feint`."""

from feint.support import interrupts


def main() -> None:
    """Run the command; interrupts are looked after before anything that takes time is imported."""
    interrupts.watch()
    try:
        from feint.cli import main as command

        command()
    except BaseException:
        if interrupts.arrived():  # whatever an import made of it
            raise SystemExit(130) from None
        raise


if __name__ == "__main__":
    main()
