#!/usr/bin/env python3
"""Makes the files in safetensors/ and safetensors.txt with safetensors' own library and PyTorch.

  python3 make_safetensors_golden.py      in an environment with torch, numpy and safetensors; writes beside this script

- net_f32, net_f64: the state_dict() of a net with named modules, parameters by make_golden.py's formula. Its output for
  array 1 is in safetensors.txt, as make_golden.py writes arrays.
- numbered: that of an nn.Sequential with another one in it.
- norms: that of a net with batch normalisation after a training step: running statistics, num_batches_tracked (3). Its
  output in evaluation for array 1 is in safetensors.txt.
- net_f16, net_bf16: net_f32 in these types; the parameters as float64 in safetensors.txt (cases f16 and bf16).
- mixed: a tensor of each dtype, element i of each is i; an empty one, a scalar, a name in UTF-8, notes. Special values
  of F16 and BF16; what the finite ones are is in safetensors.txt (cases F16 and BF16).
"""
import collections
import pathlib

import torch
from make_golden import C, File, S, fill, formula
from safetensors.torch import save_file
from torch import nn

OUT = pathlib.Path(__file__).resolve().parent / "safetensors"


def named():
    return S(collections.OrderedDict(conv1=C(1, 4, 3), relu=nn.ReLU(), pool=nn.MaxPool2d(2), flatten=nn.Flatten(),
                                     fc1=nn.Linear(36, 10)))


def numbered():
    return S(C(2, 3, 3, bias=False), S(nn.ReLU(), C(3, 4, 1)), nn.Flatten(), nn.Linear(16, 5))


def norms():
    return S(collections.OrderedDict(conv1=C(1, 4, 3), bn1=nn.BatchNorm2d(4), relu=nn.ReLU(), flatten=nn.Flatten(),
                                     fc1=nn.Linear(144, 5), bn2=nn.BatchNorm1d(5, affine=False)))


def main():
    OUT.mkdir(exist_ok=True)
    text = File("safetensors.txt")
    net = named()
    fill(net)
    text.case("net")
    text.array("y", net(formula(1, (2, 1, 8, 8))))
    for name, dtype in [("f64", torch.float64), ("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)]:
        state = {k: v.to(dtype).contiguous() for k, v in net.state_dict().items()}
        save_file(state, OUT / f"net_{name}.safetensors")
        if name.endswith("16"):
            text.case(name)
            for k, v in state.items():
                text.array(k, v.double(), most=1000)
    net = numbered()
    fill(net)
    text.case("numbered")
    text.array("y", net(formula(1, (3, 2, 4, 4))))
    save_file({k: v.float() for k, v in net.state_dict().items()}, OUT / "numbered.safetensors")

    net = norms()
    fill(net)
    for batch in range(3):
        net(formula(2 + batch, (4, 1, 8, 8)))
    net.eval()
    text.case("norms")
    text.array("y", net(formula(1, (2, 1, 8, 8))))
    save_file({k: v if v.dtype == torch.int64 else v.float() for k, v in net.state_dict().items()},
              OUT / "norms.safetensors")

    types = dict(BOOL=torch.bool, U8=torch.uint8, I8=torch.int8, I16=torch.int16, U16=torch.uint16, F16=torch.float16,
                 BF16=torch.bfloat16, I32=torch.int32, U32=torch.uint32, F32=torch.float32, F64=torch.float64,
                 I64=torch.int64, U64=torch.uint64)
    mixed = {k: torch.arange(6).to(t).reshape(2, 3) for k, t in types.items()}
    mixed |= {"F8_E4M3": torch.arange(6.0).to(torch.float8_e4m3fn), "C64": torch.arange(2).to(torch.complex64),
              "empty": torch.zeros(0, 3, dtype=torch.float32), "scalar": torch.tensor(2.5, dtype=torch.float32),
              "größe \"\n": torch.tensor([1.5], dtype=torch.float32)}
    # zeros, subnormals, the smallest normal number, 1, 1/3, the largest; both signs; then the infinities
    special = {"F16": [0, 1, 0x3FF, 0x400, 0x3C00, 0x3555, 0x7BFF, 0x7C00],
               "BF16": [0, 1, 0x7F, 0x80, 0x3F80, 0x3EAB, 0x7F7F, 0x7F80]}
    for name, bits in special.items():
        bits = bits[:-1] + [b | 0x8000 for b in bits[:-1]] + [bits[-1], bits[-1] | 0x8000]
        values = torch.tensor(bits, dtype=torch.int32).to(torch.uint16).view(types[name])
        mixed[f"{name} special"] = values
        text.case(name)
        text.array("finite", values[:-2].double(), most=1000)
    save_file(mixed, OUT / "mixed.safetensors", metadata={"format": "pt", "note": "größe"})
    text.write()


if __name__ == "__main__":
    main()
