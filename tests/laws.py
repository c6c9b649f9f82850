"""Properties in two lengths: few examples in `make test`, all of them in `make test-all`."""

import pytest
from hypothesis import HealthCheck, given, settings

_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]
_FEW = 25


def in_two_lengths(examples, *strategies):
    """A test whose parameter ``examples`` is few, or (slow) as many as given; it runs the law for the strategies."""

    def decorated(law):
        @pytest.mark.parametrize("examples", [_FEW, pytest.param(examples, marks=pytest.mark.slow)])
        def test(examples, request):
            names = law.__code__.co_varnames[: law.__code__.co_argcount]
            fixed = {"folder": request.getfixturevalue("tmp_path")} if "folder" in names else {}

            def bound(*drawn):
                law(*drawn, **fixed)

            chosen = settings(max_examples=examples, deadline=None, suppress_health_check=_CHECKS, database=None)
            wrapped = _positional(bound, len(strategies))
            chosen(given(*strategies)(wrapped))()

        test.__doc__ = law.__doc__
        return test

    return decorated


def _positional(call, count):
    """The call with so many named parameters, as Hypothesis wants them."""
    names = ", ".join(f"p{number}" for number in range(count))
    scope = {"call": call}
    exec(f"def law({names}):\n    call({names})", scope)
    return scope["law"]


def machine_in_two_lengths(machine, *, steps, examples):
    """The test case of a state machine with few examples, and (slow) with as many as given."""
    checks = list(HealthCheck)
    quick = machine.TestCase
    quick.settings = settings(
        max_examples=min(_FEW, examples), stateful_step_count=steps, deadline=None, suppress_health_check=checks
    )
    long = type(f"{machine.__name__}AtLength", (machine,), {}).TestCase
    long.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks
    )
    return quick, pytest.mark.slow(long)
