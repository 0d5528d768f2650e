"""`python export_net.py` turns the user's network, as it was trained, into an ONNX file."""

import warnings

import torch
from own_net import train

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions of torch have a newer exporter
        torch.onnx.export(
            train().eval(),
            (torch.zeros(1, 3, 32, 32),),
            "net.onnx",
            input_names=["images"],
            output_names=["logits"],
            dynamic_axes={"images": {0: "n"}, "logits": {0: "n"}},
            dynamo=False,
        )
