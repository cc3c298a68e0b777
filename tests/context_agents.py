"""Agents with contexts that do what they claim, one log at a time, in plain NumPy and without any code of feint."""

import numpy as np


def draw_coefficients(rng, mean, covariance):
    return mean + np.linalg.cholesky(covariance) @ rng.normal(size=mean.size)


def largest(scores, available, t):
    """Return the arm with the largest score among those available in row t; `available` (n, K) may be None."""
    return int(np.argmax(scores if available is None else np.where(available[t], scores, -np.inf)))


def play_linear(
    rng, contexts, theta, *, sigma=1.0, prior_sd=1.0, noise=1.0, batch=1, force=None, draw_sigma=None, available=None
):
    """Return arms and rewards of disjoint linear Thompson Sampling, by the normal equations; `force` (n,) has an arm or
    −1 for every row, `draw_sigma` is the sd that the agent really draws with, and `available` (n, K) are the arms that
    can be drawn.
    """
    n, d = contexts.shape
    n_arms = len(theta)
    information = np.repeat(np.eye(d)[None] / prior_sd**2, n_arms, axis=0)
    moments = np.zeros((n_arms, d))
    stretch = 1.0 if draw_sigma is None else draw_sigma / sigma
    arms, rewards, waiting = np.zeros(n, dtype=int), np.zeros(n), []
    covariances = [np.linalg.inv(one) for one in information]
    for t, x in enumerate(contexts):
        if t % batch == 0:
            for a in {arm for arm, _, _ in waiting}:
                for arm, seen, reward in waiting:
                    if arm == a:
                        information[a] += np.outer(seen, seen) / sigma**2
                        moments[a] += seen * reward / sigma**2
                covariances[a] = np.linalg.inv(information[a])
            waiting = []
        drawn = [
            draw_coefficients(rng, covariances[a] @ moments[a], stretch**2 * covariances[a]) for a in range(n_arms)
        ]
        arms[t] = largest(np.array(drawn) @ x, available, t)
        if force is not None and force[t] >= 0:
            arms[t] = force[t]
        rewards[t] = x @ theta[arms[t]] + noise * rng.normal()
        waiting.append((arms[t], x, rewards[t]))
    return arms, rewards


def play_shared(rng, contexts, theta, *, sigma=1.0, prior_sd=1.0, noise=1.0, joint=True, force=None, available=None):
    """Return arms and rewards of linear Thompson Sampling with one θ for all arms; contexts are (n, K, d)."""
    n, n_arms, d = contexts.shape
    information, moments = np.eye(d) / prior_sd**2, np.zeros(d)
    arms, rewards = np.zeros(n, dtype=int), np.zeros(n)
    for t, x in enumerate(contexts):
        covariance = np.linalg.inv(information)
        draws = 1 if joint else n_arms
        drawn = np.array([draw_coefficients(rng, covariance @ moments, covariance) for _ in range(draws)])
        arms[t] = largest((x * drawn).sum(axis=1), available, t)
        if force is not None and force[t] >= 0:
            arms[t] = force[t]
        rewards[t] = x[arms[t]] @ theta + noise * rng.normal()
        information += np.outer(x[arms[t]], x[arms[t]]) / sigma**2
        moments += x[arms[t]] * rewards[t] / sigma**2
    return arms, rewards


def play_logistic(
    rng, contexts, theta, *, prior_sd=1.0, batch=1, diagonal=False, scale=1.0, force=None, available=None
):
    """Return arms and rewards of logistic Thompson Sampling with online Laplace, by Newton's method."""
    n, d = contexts.shape
    n_arms = len(theta)
    precision, mean = np.repeat(np.eye(d)[None] / prior_sd**2, n_arms, axis=0), np.zeros((n_arms, d))
    arms, rewards, waiting = np.zeros(n, dtype=int), np.zeros(n), []
    for t, x in enumerate(contexts):
        if t % batch == 0:
            for a in {arm for arm, _, _ in waiting}:
                seen = np.array([row for arm, row, _ in waiting if arm == a])
                clicks = np.array([reward for arm, _, reward in waiting if arm == a])
                precision[a], mean[a] = laplace(precision[a], mean[a], seen, clicks, diagonal)
            waiting = []
        drawn = [draw_coefficients(rng, mean[a], scale**2 * np.linalg.inv(precision[a])) for a in range(n_arms)]
        arms[t] = largest(np.array(drawn) @ x, available, t)
        if force is not None and force[t] >= 0:
            arms[t] = force[t]
        rewards[t] = float(rng.random() < 1 / (1 + np.exp(-x @ theta[arms[t]])))
        waiting.append((arms[t], x, rewards[t]))
    return arms, rewards


def laplace(precision, mean, seen, clicks, diagonal):
    """Return precision and mode after a batch: Newton's method on the loss itself, until its gradient vanishes."""

    def loss(w):
        return 0.5 * (w - mean) @ precision @ (w - mean) + np.logaddexp(0.0, (1 - 2 * clicks) * (seen @ w)).sum()

    w = mean.copy()
    for _ in range(200):
        p = 1 / (1 + np.exp(-np.clip(seen @ w, -700, 700)))
        gradient = precision @ (w - mean) + seen.T @ (p - clicks)
        step = np.linalg.solve(precision + (seen.T * (p * (1 - p))) @ seen, gradient)
        if gradient @ step < 1e-24:
            break
        size = 1.0
        while gradient @ step > 1e-12 and loss(w - size * step) >= loss(w):
            size /= 2
        w = w - size * step
    more = (seen.T * (p * (1 - p))) @ seen
    return precision + (np.diag(np.diag(more)) if diagonal else more), w
