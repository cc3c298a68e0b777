"""P(arm is the largest) for independent Beta posteriors, by one sweep of panels over the log-odds y.

With g_j and G_j the density and distribution function of arm j's log-odds (logit_beta.py) and F = ∏_j G_j,

    P(a is largest) = ∫ F(y)·g_a(y)/G_a(y) dy.

All terms are positive, so tails keep their relative accuracy, and every integrand is log-concave. Panels of 24 nodes
(logit_beta_panel.py) lie end to end and serve all arms; what an arm costs on one depends on its phase (beta_arms.py).

**Left end.** See beta_left_ends.py.

**Right end.** Where the logarithm of the integrand falls with slope −d, the rest beyond is at most its value over d.

**Between** the supports of the arms nothing is integrated: the sweep jumps to the next left end. Very deep tails, which
peak away from the main region, cost a few panels of their own.

**Digits.** Panel ends are multiples of 2⁻⁴⁰, so log g_j at the right end of a panel can start the next one without
rounding y. Digits are lost in the slopes (logit_beta.py): about 2e-15·√N of every P, or 2e-11 for N = 1e8, and K/20
times as much where more than 20 such arms tie, since they share their rounding.
"""

import math

from feint._types import FloatArray, IntArray
from feint.numerics._jit import part
from feint.numerics.beta_arms import (
    ACTIVE,
    ALPHA,
    BETA,
    BULK,
    CDF,
    CENTRE_FALL,
    CENTRE_SLOPE,
    DEEP,
    DONE,
    EXPONENT,
    FALL,
    FULL,
    HAZARD,
    LEFT,
    LOG_F,
    MANTISSA,
    ORDER,
    PEAK,
    PHASE,
    PREFIX_SUMS,
    PRODUCT,
    SHIFT,
    SLOPE,
    STATE,
    SUM,
    BetaWorkspace,
    describe_arms,
    factor_width,
    integrand_width,
    jump_to,
    set_slopes,
)
from feint.numerics.beta_left_ends import fill_beta_left_ends
from feint.numerics.logit_beta import both_odds, mills_ratios
from feint.numerics.logit_beta_panel import (
    CUMULANT,
    DENSITY,
    GRID,
    LOBATTO_WEIGHTS,
    NODES,
    POSITION,
    accumulate_densities,
    fill_densities,
    place_nodes,
    place_odds,
    pole_width,
)
from feint.numerics.normal import exp_nonpositive
from feint.numerics.sorting import sort_by
from feint.numerics.sums import sum_products

_RIGHT_CUT = 2e-15  # share of an arm's mass left out on the right
_TINY_MANTISSA = 1e-150
_STEEP = 300.0  # nats over one panel: beyond this, exponents are combined before they are exponentiated


@part
def _fill_panel(
    arms: FloatArray,
    ranks: IntArray,
    nodes: FloatArray,
    odds: FloatArray,
    ratios: FloatArray,
    p: float,
    q: float,
    half: float,
) -> None:
    """Fill F and g/G of every arm at the nodes about σ(y) = p = 1 − q, and move the arms to the panel's right end."""
    for i in range(NODES):
        nodes[MANTISSA, i] = 1.0
        nodes[LOG_F, i] = 0.0
    deep_pulls = 0.0
    deep_slope = 0.0
    deep_fall = 0.0
    for a in range(arms.shape[1]):
        phase = ranks[PHASE, a]
        if phase == FULL and ranks[STATE, a] == DONE:
            continue
        pulls = arms[ALPHA, a] + arms[BETA, a]
        peak = arms[PEAK, a]
        slope = arms[ALPHA, a] * q - arms[BETA, a] * p
        fall = arms[FALL, a] - slope * half - pulls * nodes[CUMULANT, 0]
        arms[SHIFT, a] = 0.0
        if phase == DEEP:
            mills_ratios(arms[ALPHA, a], arms[BETA, a], odds, ratios, a)
            deep_pulls += pulls
            deep_slope += slope
            deep_fall += fall - math.log(peak)
            for i in range(NODES):
                nodes[MANTISSA, i] *= ratios[a, i]
                ratios[a, i] = 1.0 / ratios[a, i]
            arms[HAZARD, a] = ratios[a, NODES - 1]
        elif phase == BULK:
            fill_densities(nodes, pulls, fall, slope)
            accumulate_densities(nodes, ratios, a, arms[CDF, a], peak * half)
            arms[CDF, a] = ratios[a, NODES - 1]
            for i in range(NODES):
                nodes[MANTISSA, i] *= ratios[a, i]
                ratios[a, i] = peak * nodes[DENSITY, i] / ratios[a, i]
            arms[HAZARD, a] = ratios[a, NODES - 1]
        elif ranks[STATE, a] == ACTIVE:
            arms[SHIFT, a] = arms[FALL, a]
            fill_densities(nodes, pulls, fall - arms[FALL, a], slope)
            for i in range(NODES):
                ratios[a, i] = peak * nodes[DENSITY, i]
        arms[CENTRE_FALL, a] = fall
        arms[CENTRE_SLOPE, a] = slope
        arms[FALL, a] = fall - slope * half + pulls * nodes[CUMULANT, NODES - 1]
        if nodes[MANTISSA, 0] < _TINY_MANTISSA or nodes[MANTISSA, NODES - 1] > 1.0 / _TINY_MANTISSA:
            for i in range(NODES):
                nodes[LOG_F, i] += math.log(nodes[MANTISSA, i])
                nodes[MANTISSA, i] = 1.0
    for i in range(NODES):
        nodes[LOG_F, i] += deep_slope * nodes[POSITION, i] - deep_pulls * nodes[CUMULANT, i] - deep_fall
    top = nodes[LOG_F, NODES - 1]
    for i in range(NODES):
        nodes[PRODUCT, i] = LOBATTO_WEIGHTS[i] * nodes[MANTISSA, i] * exp_nonpositive(nodes[LOG_F, i] - top)


@part
def _add_panel(arms: FloatArray, nodes: FloatArray, ratios: FloatArray, a: int, half: float, hazards: float) -> bool:
    """Add the panel to the integral of arm a; return whether the rest beyond it is negligible."""
    top = nodes[LOG_F, NODES - 1]
    shift = arms[SHIFT, a]
    if shift > 0.0 and (top - nodes[LOG_F, 0] > _STEEP or arms[FALL, a] - shift > _STEEP):
        # F rises and g_a falls by more than float64 can span; only the sum of their exponents is moderate.
        pulls = arms[ALPHA, a] + arms[BETA, a]
        exponent = -math.inf
        for i in range(NODES):
            log_density = arms[CENTRE_SLOPE, a] * nodes[POSITION, i] - pulls * nodes[CUMULANT, i]
            nodes[DENSITY, i] = nodes[LOG_F, i] + log_density - arms[CENTRE_FALL, a]
            exponent = max(exponent, nodes[DENSITY, i])
        total = 0.0
        last = 0.0
        for i in range(NODES):
            last = arms[PEAK, a] * nodes[MANTISSA, i] * exp_nonpositive(nodes[DENSITY, i] - exponent)
            total += LOBATTO_WEIGHTS[i] * last
    else:
        exponent = top - shift
        total = sum_products(nodes[PRODUCT], ratios[a])
        last = nodes[MANTISSA, NODES - 1] * ratios[a, NODES - 1]
    scale = 1.0
    if exponent > arms[EXPONENT, a]:
        arms[SUM, a] *= exp_nonpositive(arms[EXPONENT, a] - exponent)
        arms[EXPONENT, a] = exponent
    elif exponent < arms[EXPONENT, a]:
        scale = exp_nonpositive(exponent - arms[EXPONENT, a])
    arms[SUM, a] += total * half * scale
    decline = arms[HAZARD, a] - hazards - arms[SLOPE, a]
    return last * scale < _RIGHT_CUT * arms[SUM, a] * decline


@part
def beta_best_arm_sums(alphas: FloatArray, betas: FloatArray, ws: BetaWorkspace) -> int:
    """Leave P(arm a is the largest) = arms[SUM, a]·exp(arms[EXPONENT, a]) for every arm; return the panels used.

    `alphas`, `betas`: (K,), from 1e-3 to 1e10.
    """
    n_arms = alphas.size
    arms = ws.arms
    ranks = ws.ranks
    nodes = ws.nodes
    odds = ws.odds
    ratios = ws.ratios
    coefficients = ws.coefficients
    log_pulls = math.log(describe_arms(alphas, betas, arms, ranks))
    fill_beta_left_ends(alphas, betas, arms[PREFIX_SUMS:], ranks, coefficients, arms[LEFT])
    sort_by(arms[LEFT], ranks[ORDER], 1.0)
    started = 0
    active = 0
    panels = 0
    y = p = q = hazards = curvatures = 0.0
    while started < n_arms or active > 0:
        if active == 0:
            y = math.floor(arms[LEFT, ranks[ORDER, started]] * GRID) / GRID
            jump_to(arms, ranks, nodes, coefficients, y)
            p, q = both_odds(y)
            hazards, curvatures = set_slopes(arms, ranks, p, q)
        width = pole_width(y, log_pulls)
        any_deep = False
        for a in range(n_arms):
            if ranks[PHASE, a] != FULL:
                width = min(width, factor_width(arms, ranks, a, y, p, q))
                any_deep |= ranks[PHASE, a] == DEEP
            if ranks[STATE, a] == ACTIVE:
                width = min(width, integrand_width(arms, a, p * q, hazards, curvatures))
        while started < n_arms and arms[LEFT, ranks[ORDER, started]] <= y + width:
            a = ranks[ORDER, started]
            width = min(width, integrand_width(arms, a, p * q, hazards, curvatures))
            ranks[STATE, a] = ACTIVE
            started += 1
            active += 1
        width = math.floor(width * GRID) / GRID
        half = 0.5 * width
        p, q = place_nodes(nodes, coefficients, y + half, half)
        if any_deep:
            place_odds(odds, y + half, half)
        _fill_panel(arms, ranks, nodes, odds, ratios, p, q, half)
        panels += 1
        y += width
        p, q = both_odds(y)
        hazards, curvatures = set_slopes(arms, ranks, p, q)
        for a in range(n_arms):
            if ranks[STATE, a] == ACTIVE and _add_panel(arms, nodes, ratios, a, half, hazards):
                ranks[STATE, a] = DONE
                active -= 1
    return panels
