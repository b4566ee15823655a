#!/usr/bin/env python3
"""Reads with TensorBoard's own package what tensorboard_python_test.cpp wrote, and compares.

  python3 read_in_tensorboard.py FOLDER      exit status 77 where tensorboard or pillow can't be imported
"""
import io
import sys

try:
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def main(folder):
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
    events.Reload()
    assert events.file_version == 2.0, events.file_version
    loss = events.Scalars("train_loss")
    assert [e.step for e in loss] == list(range(100))
    assert all(e.value == 1 / (1 << (e.step % 10)) for e in loss)
    assert all(e.wall_time > 1.6e9 for e in loss)
    h = events.Histograms("w")[0].histogram_value
    assert (h.min, h.max, h.num, h.sum, h.sum_squares) == (-1, 3, 4, 4, 14), h
    assert sum(h.bucket) == 4 and len(h.bucket) == len(h.bucket_limit)
    assert h.bucket_limit[0] <= -1 and h.bucket_limit[-1] >= 3
    for tag, channels, mode in [("rgb", 3, "RGB"), ("grey", 1, "L")]:
        e = events.Images(tag)[0]
        assert (e.height, e.width) == (2, 5)
        image = Image.open(io.BytesIO(e.encoded_image_string))
        assert image.mode == mode and image.size == (5, 2)
        for c, band in enumerate(image.split()):
            assert band.tobytes() == bytes(20 * (c * 10 + i) % 256 for i in range(10)), (tag, c)
    text = events.Tensors("note/text_summary")[0]
    assert text.tensor_proto.string_val == ["**größe**".encode()]
    assert events.summary_metadata["note/text_summary"].plugin_data.plugin_name == "text"
    graph = {n.name: (n.op, list(n.input)) for n in events.Graph().node}
    assert graph == {"input": ("IO Node", []), "0": ("Flatten", ["input"]), "fc": ("Linear", ["0"]),
                     "output": ("IO Node", ["fc"])}, graph
    print("read")


if __name__ == "__main__":
    main(sys.argv[1])
