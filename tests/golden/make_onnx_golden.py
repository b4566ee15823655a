#!/usr/bin/env python3
"""Makes onnx/layers.onnx and onnx/double.onnx, nets with every layer, with the onnx package.

  python3 make_onnx_golden.py      in an environment with torch, onnx and onnxruntime; writes beside this script

Before it writes them, onnx's checker has passed them, and onnxruntime (for doubles, where it has no convolution: onnx's
own evaluator) has computed what PyTorch's modules do, with the same parameters under the same names. Versions of the
files that are kept: torch 2.15.0, onnx 1.23.2, onnxruntime 1.32.0. The net is that of tests/support/onnx_net.hpp;
element i of parameter p is ((7 i + 3 p) mod 17 - 8) / 4, as is that of running means and variances, but these
are 2.0625 more.
"""
import collections
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from torch import nn

FEATURES = collections.OrderedDict([
    ("conv1", nn.Conv2d(3, 4, 3, 1, 1)), ("1", nn.ReLU()), ("2", nn.MaxPool2d((2, 3), (2, 1), (0, 1))),
    ("3", nn.Conv2d(4, 4, (1, 2), (1, 2), bias=False)), ("4", nn.LeakyReLU(0.02)), ("5", nn.AvgPool2d(3, 1, 1)),
    ("6", nn.ELU(0.5)), ("7", nn.AvgPool2d(3, 1, 1, count_include_pad=False)), ("8", nn.SiLU()), ("9", nn.Dropout2d()),
    ("10", nn.AdaptiveAvgPool2d((4, 3))), ("11", nn.Tanh()), ("12", nn.AdaptiveAvgPool2d((2, 3))), ("13", nn.GELU()),
    ("14", nn.Conv2d(4, 6, 2, 1, 1, (2, 3), 2)), ("15", nn.Hardswish()),
    ("16", nn.LayerNorm((6, 2, 2))), ("17", nn.AdaptiveAvgPool2d(1)),
    ("bn", nn.BatchNorm2d(6))])
NET = collections.OrderedDict([
    ("features", nn.Sequential(FEATURES)), ("1", nn.Identity()), ("2", nn.Flatten()), ("fc1", nn.Linear(6, 5)),
    ("4", nn.GELU(approximate="tanh")), ("5", nn.Sigmoid()), ("6", nn.Softmax(1)), ("7", nn.Dropout()),
    ("8", nn.Linear(5, 4, bias=False)), ("9", nn.BatchNorm1d(4, 1e-3, affine=False)), ("10", nn.LayerNorm(4, 1e-2)),
    ("11", nn.LogSoftmax(1))])

# What pools (5, 4) to (4, 3): the bins of PyTorch's adaptive pooling overlap.
ROWS = [[1 / 2, 1 / 2, 0, 0, 0], [0, 1 / 2, 1 / 2, 0, 0], [0, 0, 1 / 2, 1 / 2, 0], [0, 0, 0, 1 / 2, 1 / 2]]
COLUMNS = [[1 / 2, 0, 0], [1 / 2, 1 / 2, 0], [0, 1 / 2, 1 / 2], [0, 0, 1 / 2]]

f = "features."
# Operator, layer, inputs, attributes; the output is called like the node.
NODES = [
    ("Conv", f + "conv1", ["input", f + "conv1.weight", f + "conv1.bias"],
     dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])),
    ("Relu", f + "1", [f + "conv1"], {}),
    ("MaxPool", f + "2", [f + "1"], dict(kernel_shape=[2, 3], pads=[0, 1, 0, 1], strides=[2, 1])),
    ("Conv", f + "3", [f + "2", f + "3.weight"], dict(kernel_shape=[1, 2], pads=[0, 0, 0, 0], strides=[1, 2])),
    ("LeakyRelu", f + "4", [f + "3"], dict(alpha=0.02)),
    ("AveragePool", f + "5", [f + "4"],
     dict(count_include_pad=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])),
    ("Elu", f + "6", [f + "5"], dict(alpha=0.5)),
    ("AveragePool", f + "7", [f + "6"],
     dict(count_include_pad=0, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])),
    ("Sigmoid", f + "8", [f + "7"], {}),
    ("Mul", f + "8_1", [f + "7", f + "8"], {}),
    ("MatMul", f + "10", [f + "10.rows", f + "8_1"], {}),
    ("MatMul", f + "10_1", [f + "10", f + "10.columns"], {}),
    ("Tanh", f + "11", [f + "10_1"], {}),
    ("AveragePool", f + "12", [f + "11"],
     dict(count_include_pad=0, kernel_shape=[2, 1], pads=[0, 0, 0, 0], strides=[2, 1])),
    ("Gelu", f + "13", [f + "12"], dict(approximate="none")),
    ("Conv", f + "14", [f + "13", f + "14.weight", f + "14.bias"],
     dict(dilations=[2, 3], group=2, kernel_shape=[2, 2], pads=[1, 1, 1, 1], strides=[1, 1])),
    ("HardSwish", f + "15", [f + "14"], {}),
    ("LayerNormalization", f + "16", [f + "15", f + "16.weight", f + "16.bias"], dict(axis=1, epsilon=1e-5)),
    ("GlobalAveragePool", f + "17", [f + "16"], {}),
    ("BatchNormalization", f + "bn", [f + "17", *(f + "bn." + p for p in ("weight", "bias", "running_mean", "running_var"))],
     dict(epsilon=1e-5)),
    ("Identity", "1", [f + "bn"], {}),
    ("Flatten", "2", ["1"], dict(axis=1)),
    ("Gemm", "fc1", ["2", "fc1.weight", "fc1.bias"], dict(transB=1)),
    ("Gelu", "4", ["fc1"], dict(approximate="tanh")),
    ("Sigmoid", "5", ["4"], {}),
    ("Softmax", "6", ["5"], dict(axis=1)),
    ("Gemm", "8", ["6", "8.weight"], dict(transB=1)),
    ("BatchNormalization", "9", ["8", "9.ones", "9.zeros", "9.running_mean", "9.running_var"], dict(epsilon=1e-3)),
    ("LayerNormalization", "10", ["9", "10.weight", "10.bias"], dict(axis=1, epsilon=1e-2)),
    ("LogSoftmax", "11", ["10"], dict(axis=1)),
]


def run(model, x):
    if x.dtype == np.float32:
        return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"input": x})[0]
    return ReferenceEvaluator(model).run(None, {"input": x})[0]


def make(dtype):
    """The net for numbers of dtype, after it was found to compute what PyTorch's does."""
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    net = nn.Sequential(NET).to(torch.from_numpy(np.zeros(1, dtype)).dtype).eval()
    values = {}
    buffers = [(name, b) for name, b in net.named_buffers() if b.ndim]
    for named in (net.named_parameters(), buffers):
        for p, (name, t) in enumerate(named):
            v = ((7 * np.arange(t.numel()) + 3 * p) % 17 - 8) / 4 + 2.0625 * name.endswith("var")
            values[name] = v.astype(dtype).reshape(t.shape)
    net.load_state_dict({name: torch.from_numpy(v) for name, v in values.items()}, strict=False)
    constants = {f + "10.rows": np.array(ROWS, dtype), f + "10.columns": np.array(COLUMNS, dtype),
                 "9.ones": np.ones(4, dtype), "9.zeros": np.zeros(4, dtype)}

    nodes = [helper.make_node(op, inputs, [name], name=name, **attributes) for op, name, inputs, attributes in NODES]
    nodes[-1].output[0] = "output"
    graph = helper.make_graph(
        nodes, "main_graph", [helper.make_tensor_value_info("input", kind, ["batch", 3, 10, 9])],
        [helper.make_tensor_value_info("output", kind, ["batch", 4])],
        [helper.make_tensor(name, kind, v.shape, v.tobytes(), raw=True) for name, v in (values | constants).items()])
    model = helper.make_model(graph, producer_name="kern", ir_version=9,
                              opset_imports=[onnx.OperatorSetIdProto(version=20)])
    onnx.checker.check_model(model, full_check=True)

    x = np.random.default_rng(0).normal(0, 3, (16, 3, 10, 9)).astype(dtype)
    with torch.no_grad():
        y = net(torch.from_numpy(x)).numpy()
    assert (y.std(axis=0) > 1e-3).all(), y  # a hundred times the tolerance: a wrong operator is seen
    # Float: rounding. Double: ONNX has the slopes, and HardSwish's 1/6, as float.
    np.testing.assert_allclose(run(model, x), y, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-7)
    return model


def main():
    folder = pathlib.Path(__file__).resolve().parent / "onnx"
    folder.mkdir(exist_ok=True)
    for name, dtype in [("layers", np.float32), ("double", np.float64)]:
        (folder / f"{name}.onnx").write_bytes(make(dtype).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
