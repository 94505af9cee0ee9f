"""The methods in plain NumPy, line by line and without optimisation: documentation and oracle.

A federated method `Name` is two classes that share no memory: `NameClient` and `NameServer`. Names stand for the
paper's symbols: `model` is {V_i, b_i}, `pending` {ΔV_i, Δb_i}, `state` of the server {V_g, b_g}, `ridge` λ. Every
determinant is that of the matrix plus λI. Errors in the paper's pseudo-code are corrected where a docstring says so.
"""

from algorithms.messages import Federated
from algorithms.method import Learner, Method


def literal(method: Method) -> Learner | Federated:
    """Return the literal implementation of a method, with the same hyper-parameters, for `replay`."""
    return method.literal()
