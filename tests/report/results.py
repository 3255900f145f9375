"""Results made by hand, for reports to show."""

from __future__ import annotations

from dataclasses import replace

from kernelscope.audit.results import (
    ArtifactResult,
    Assumptions,
    AuditResult,
    Consequence,
    Finding,
    KernelResult,
    Location,
    ModelResult,
    Note,
    Proof,
    RangedNode,
    UnknownFinding,
    UnsafeFinding,
    UsedBound,
    Verdict,
    Witness,
)
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSymbol,
    HostType,
)
from kernelscope.launches.launch import (
    BoundOrigin,
    Launch,
    Launcher,
    ScalarArgument,
    SourcePosition,
    Symbol,
    Tensor,
    TensorArgument,
)
from kernelscope.triton_source.index_program import UnknownReason

FILE = "layernorm.unbounded/data/aotinductor/model/cabc.wrapper.cpp"
S10 = Symbol("s10", "input0[0]", 2, None, 2147483647)
S10_SIZE = HostSymbol("s10")
ONE = HostConstant(1)
LINE = "            tmp0 = tl.load(in_ptr0 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_last', other=0.0)"


def _tensor(name: str) -> TensorArgument:
    columns = HostConstant(4096)
    return TensorArgument(name, Tensor(name, name, "fp32", (S10_SIZE, columns), (columns, ONE)))


def launch(index: int = 0, kernel: str = "triton_per_fused_native_layer_norm_0") -> Launch:
    grid: tuple[HostExpression, HostExpression, HostExpression] = (HostCast(S10_SIZE, HostType.UINT32), ONE, ONE)
    scalars = (
        ScalarArgument("xnumel", S10_SIZE, HostType.INT32),
        ScalarArgument("total", HostBinary(HostOperator.MULTIPLY, S10_SIZE, HostConstant(4096)), HostType.INT64),
    )
    return Launch(
        index, kernel, kernel, grid, (_tensor("in_ptr0"), *scalars), {"XBLOCK": 1}, 8, 0, "c.cubin",
        ("layer_norm",), ("aten.native_layer_norm",), Launcher.AOTI, SourcePosition(FILE, 900),
    )  # fmt: skip


def location(line: int = 412) -> Location:
    start = LINE.index("r0_1")
    return Location(FILE, line, start, start + len("r0_1 + 4096*x0"), LINE)


TREE = RangedNode(
    "r0_1 + 4096*x0", "int32", 0, 2147487743, False,
    (
        RangedNode("r0_1", "int32", 0, 4095, True),
        RangedNode(
            "4096*x0", "int32", 0, 2147483648, False,
            (RangedNode("4096", "int32", 4096, 4096, True), RangedNode("x0", "int32", 0, 524288, True)),
        ),
    ),
)  # fmt: skip

UNSAFE = UnsafeFinding(
    "KS101-0123456789", "KS101", location(), "r0_1 + 4096*x0", "int32", "4096*s10 <= 2147483648", {"s10": 524288},
    Witness({"s10": 524289}, (524288, 0, 0), (0, 0), {}, {}, 2147483648, -2147483648), Consequence.OUT_OF_BOUNDS,
    8589950976, (0,), TREE,
    "At s10 = 524289 r0_1 + 4096*x0 is 2147483648 but int32 arithmetic gives -2147483648: out-of-bounds access.",
)  # fmt: skip

UNKNOWN = UnknownFinding(
    "KS101-aaaaaaaaaa", "KS101", location(430), "tmp0", "int64", UnknownReason.MISSING_FACT,
    "the values loaded from index_ptr have no range", (1,),
)  # fmt: skip

NOTE = Note(
    "KS401-bbbbbbbbbb", "KS401", location(440), "(x1).to(tl.float32)",
    "index arithmetic through float32 is exact only up to 2**24; eager mode computes the same", (2,),
)  # fmt: skip

PROOF = Proof("x0 + 64*x1", location(450), "int32", "64*s10 - 1", 1073741823, 2147483647)


def kernel(
    name: str, *findings: Finding, verdict: Verdict = Verdict.SAFE, proofs: tuple[Proof, ...] = ()
) -> KernelResult:
    return KernelResult(name, verdict, 32, (launch(kernel=name),), findings, proofs, None)


def unsafe_kernel(name: str = "triton_per_fused_native_layer_norm_0", *more: Finding) -> KernelResult:
    return kernel(name, UNSAFE, *more, verdict=Verdict.UNSAFE)


def model(*kernels: KernelResult, name: str = "model", largest: int | None = 524288) -> ModelResult:
    verdict = min((k.verdict for k in kernels), default=Verdict.SAFE)
    return ModelResult(name, verdict, "cuda", (S10,), kernels, (), {"s10": largest})


def artifact(*models: ModelResult, path: str = "layernorm.unbounded.pt2") -> ArtifactResult:
    return ArtifactResult(path, min((m.verdict for m in models), default=Verdict.UNKNOWN), models)


def audit_result(*artifacts: ArtifactResult) -> AuditResult:
    bounds = (UsedBound("s10", 2, None, BoundOrigin.DECLARED),)
    return AuditResult(artifacts, Assumptions(288 << 30, bounds, ("XBLOCK is 1: read off the grid",)))


def layernorm() -> AuditResult:
    """One unsafe kernel."""
    return audit_result(artifact(model(unsafe_kernel())))


def network() -> AuditResult:
    """Kernels of every verdict, one finding shared by several."""
    kernels = (
        kernel("triton_poi_fused_relu_0", proofs=(PROOF,)),
        *(unsafe_kernel(f"triton_per_fused_native_layer_norm_{n}") for n in range(1, 8)),
        kernel("triton_poi_fused_embedding_8", UNKNOWN, verdict=Verdict.UNKNOWN),
        kernel("triton_poi_fused__to_copy_add_mul_upsample_nearest2d_convolution_backward_9", NOTE, proofs=(PROOF,)),
        kernel("triton_poi_fused_zeros_10"),
    )
    broken = UnknownFinding(
        "KS903-cccccccccc", "KS903", Location("m/data/x.cubin", 1, 0, 0, ""), "m/data/x.cubin", "",
        UnknownReason.MISSING_FACT, "the member cannot be decompressed", (),
    )  # fmt: skip
    return audit_result(artifact(replace(model(*kernels), findings=(broken,)), path="network.pt2"))


def several() -> AuditResult:
    """A safe package, an unsafe one and one that cannot be read."""
    safe = replace(S10, maximum=4096, assumed_by_inductor=None)
    return audit_result(
        artifact(replace(model(kernel("triton_poi_fused_relu_0", proofs=(PROOF,))), symbols=(safe,)), path="small.pt2"),
        artifact(model(unsafe_kernel())),
        ArtifactResult("torn.pt2", Verdict.UNKNOWN, (), "torn.pt2: the zip directory is missing; copy the file again"),
    )
