#!/usr/bin/env python3
"""Makes tensorboard.bin, an event file, with TensorBoard's own library and PyTorch's summaries.

  python3 make_tensorboard_golden.py      in an environment with torch and tensorboard; writes beside this script

Event k was at 1000.25 + k seconds. Its values are such that no sum is rounded.
"""
import pathlib
import tempfile

import numpy as np
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef
from tensorboard.summary.writer.record_writer import RecordWriter
from torch import nn
from torch.utils.tensorboard import SummaryWriter, summary


def default_bins():
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        writer.close()
        return writer.default_bins


def graph():
    """x + conv(x), flatten, linear: as PyTorch's add_graph has its nodes, but with the layers' names."""
    any_batch = -1

    def node(name, op, inputs, module, *shape):
        dims = [TensorShapeProto.Dim(size=size) for size in (any_batch, *shape)]
        shapes = AttrValue.ListValue(shape=[TensorShapeProto(dim=dims)])
        return NodeDef(name=name, op=op, input=inputs, attr={
            "_output_shapes": AttrValue(list=shapes), "attr": AttrValue(s=str(module).encode())})

    return GraphDef(
        node=[
            node("input", "IO Node", [], "", 2, 4, 3),
            node("0/conv", "Conv2d", ["input"], nn.Conv2d(2, 2, 3, padding=1), 2, 4, 3),
            node("0", "Residual", ["input", "0/conv"], "Residual(x + f(x))", 2, 4, 3),
            node("1", "Flatten", ["0"], nn.Flatten(), 24),
            node("2", "Linear", ["1"], nn.Linear(24, 5), 5),
            node("output", "IO Node", ["2"], "", 5),
        ],
        versions=VersionDef(producer=22),
    )


def main():
    events = [Event(wall_time=1000.25, file_version="brain.Event:2")]

    def add(s, step):
        events.append(Event(wall_time=1000.25 + len(events), step=step, summary=s))

    bins = default_bins()
    add(summary.scalar("train_loss", 2.5), 0)
    add(summary.scalar("train_loss", 0.0), 1)
    add(summary.scalar("größe", -1 / 3), 2**40)
    add(summary.scalar("bad", float("nan")), -1)
    add(summary.histogram("w", np.array([-2, -0.5, -0.5, 0, 0.25, 1, 1.5, 3]), bins), 7)
    add(summary.histogram("zeros", np.zeros(3), bins), 8)
    add(summary.histogram("one", np.array([1e-12]), bins), 8)
    add(summary.histogram("small", np.array([2.0**-60, -(2.0**-50)]), bins), 9)
    add(summary.text("note", "**größe**: 3"), 3)
    add(summary.text("none", ""), 0)
    events.append(Event(wall_time=1000.25 + len(events), graph_def=graph().SerializeToString(deterministic=True)))
    with open(pathlib.Path(__file__).resolve().parent / "tensorboard.bin", "wb") as f:
        writer = RecordWriter(f)
        for event in events:
            writer.write(event.SerializeToString())


if __name__ == "__main__":
    main()
