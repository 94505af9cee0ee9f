"""Private-FedLinUCB, line by line."""

import numpy as np

from algorithms.exchange.literal_protocol import JoiningClient
from algorithms.exchange.literal_schedule import PollingServer
from algorithms.messages import Message, Problem, pack
from algorithms.methods.private_fed_linucb import PrivateFedLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, upper_bounds
from algorithms.numerics.random_numbers import PRIVACY, generator_of_message, normals
from algorithms.numerics.ties import pick


def lowest_set_bit(number: int) -> int:
    """Return the index of the lowest set bit."""
    return (number & -number).bit_length() - 1


class PrivateFedLinUCBClient(JoiningClient):
    """`sums` are P[0..L-1], `batch` is Q; `total` and `ridge` (Λ) are those of the last download."""

    def __init__(self, parameters: PrivateFedLinUCB, number: int, problem: Problem) -> None:
        self.parameters, self.number, self.problem = parameters, number, problem
        self.sums = [Statistics(problem.dimension) for _ in range(parameters.levels(problem.steps))]
        self.batch = Statistics(problem.dimension)
        self.total = Statistics(problem.dimension)
        self.ridge = parameters.ridge
        self.uploads = 0

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by LinUCB on Q + total with ridge Λ; x is not scaled."""
        model = Statistics(self.problem.dimension)
        model.add(self.batch)
        model.add(self.total)
        return pick(upper_bounds(contexts, model, self.parameters.alpha, self.ridge), rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Q += (x̄x̄ᵀ, x̄ȳ), with x̄ of length 1 at most and ȳ in [-1, 1]."""
        self.batch.observe(context / max(1, np.linalg.norm(context)), min(max(reward, -1), 1))
        return []

    def receive(self, message: Message) -> list[Message]:
        """Answer poll k with a noisy partial sum; keep a download, which tells the number of clients in it."""
        if message.kind == "poll":
            return [self.upload(lowest_set_bit(message.count))]
        self.total = Statistics.of(message, self.problem.dimension)
        self.ridge = self.parameters.ridge_with_noise(self.total.V, message.count, self.problem.steps)
        return []

    def upload(self, level: int) -> Message:
        """P[j] = Q + Σ of P[l] over l < j;   Q = 0;   upload P[j] + (σ(G+Gᵀ)/2, σg)."""
        sums = Statistics(self.problem.dimension)
        for part in (self.batch, *self.sums[:level]):
            sums.add(part)
        self.sums[level] = sums
        self.batch.clear()
        d, sigma = self.problem.dimension, self.parameters.noise(self.problem.steps)
        z = normals(generator_of_message(self.problem.seed, self.uploads, PRIVACY, self.number), d * d + d)
        self.uploads += 1
        G, g = z[: d * d].reshape(d, d), z[d * d :]
        return Message("upload", pack(sums.V + sigma * (G + G.T) / 2, sums.b + sigma * g), sums.count)


class PrivateFedLinUCBServer(PollingServer):
    """`sums` are R[0..L-1]; synchronisation k = 1, 2, … follows step k · period."""

    def __init__(self, parameters: PrivateFedLinUCB, problem: Problem) -> None:
        super().__init__()
        parameters.noise(problem.steps)  # refuses a wrong δ
        self.parameters, self.dimension = parameters, problem.dimension
        self.sums = [Statistics(problem.dimension) for _ in range(parameters.levels(problem.steps))]
        self.synchronisation = 0

    def poll_after(self, step: int) -> Message | None:
        """Poll after steps period, 2·period, …, and start R[j] at 0."""
        if (step + 1) % self.parameters.period != 0:
            return None
        self.synchronisation += 1
        self.sums[lowest_set_bit(self.synchronisation)] = Statistics(self.dimension)
        return Message("poll", count=self.synchronisation)

    def collect(self, answer: Message) -> None:
        """R[j] = Σ of the uploads."""
        self.sums[lowest_set_bit(self.synchronisation)].add(Statistics.of(answer, self.dimension))

    def conclude(self) -> Message:
        """Return total = Σ of R[l] over the set bits l of k, with the number of known clients."""
        total = Statistics(self.dimension)
        for level, part in enumerate(self.sums):
            if self.synchronisation >> level & 1:
                total.add(part)
        return Message("download", pack(total.V, total.b), len(self.known))
