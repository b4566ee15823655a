#!/usr/bin/env python3
"""Checks what onnx_python_test.cpp saved with onnx's checker, runs it in onnxruntime, and compares the outputs.

  python3 run_in_onnxruntime.py FOLDER      exit status 77 where onnx or onnxruntime can't be imported

FOLDER has for each NAME.onnx: NAME_x.npy and NAME_y.npy, a batch and what kern computes for it.
"""
import pathlib
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def main(folder):
    paths = sorted(folder.glob("*.onnx"))
    assert len(paths) == 5, paths
    for path in paths:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)  # infers all shapes, and compares them with the output's
        x, y = (np.load(path.with_name(f"{path.stem}_{end}.npy")) for end in "xy")
        session = onnxruntime.InferenceSession(path)
        for n in (len(x), 1):  # the batch's size is free
            got = session.run(None, {"input": x[:n]})[0]
            assert got.dtype == y.dtype and got.shape == y[:n].shape, (path, got.shape)
            # Both add in different orders: n terms that come to about 1 are off by about sqrt(n) 2^-24 each way, the
            # longest sum, n = 4608, by 4e-6.
            np.testing.assert_allclose(got, y[:n], rtol=0, atol=1e-5, err_msg=str(path))
    print("the same outputs")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
