"""A model that every stage runs alike."""

import torch


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.second = torch.nn.Linear(32, 8)

    def forward(self, input):
        hidden = torch.nn.functional.silu(self.first(input))
        return self.second(hidden).exp(), hidden.argmax(-1)


def get_model_and_inputs():
    torch.manual_seed(3)
    return Network(), (torch.randn(4, 16),)
