"""Hand-written kernels in every form of control flow. Read as text, and imported by triton for comparison."""

import triton
import triton.language as tl

FACTOR: tl.constexpr = tl.constexpr(3)


@triton.jit
def row_offset(row, stride, COLUMNS: tl.constexpr):
    return row * stride + tl.arange(0, COLUMNS)


@triton.jit
def pair(a, b):
    return a + b, a * b


@triton.jit
def clipped(x, limit=7):
    if x > limit:
        return limit + 0 * x
    return x


@triton.jit
def matmul(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    in_group = G * num_n
    group = pid // in_group
    first = group * G
    size = min(num_m - first, G)
    pid_m = first + ((pid % in_group) % size)
    pid_n = (pid % in_group) // size
    tl.assume(pid_m >= 0)
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a + (offs_m[:, None] * sam + offs_k[None, :] * sak)
    b_ptrs = b + (offs_k[:, None] * sbk + offs_n[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    out = acc.to(tl.float16)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    tl.store(c + scm * rows[:, None] + scn * cols[None, :], out, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def nested(a, c, M, N, sam, scm, BM: tl.constexpr):
    row = tl.program_id(0)
    a += row * sam
    total = tl.zeros([BM], dtype=tl.float32)
    for i in range(M):
        base = a + i * sam
        for j in range(0, N, BM):
            offs = j + tl.arange(0, BM)
            total += tl.load(base + offs, mask=offs < N, other=0.0).to(tl.float32)
            base += FACTOR
        for j in tl.range(N, 2 * N, BM + 0):
            total += tl.load(base + j)
    tl.store(c + row * scm + tl.arange(0, BM), total)


@triton.jit
def early(a, c, M, N, sam, BM: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= M:
        return
    start = pid * sam
    if N == 0:
        tl.store(c + pid, 0.0)
        return
    if N > 1000:
        start = start + pid * sam
    else:
        start = start * 2
        tl.store(c, 0.0)
    tl.store(c + row_offset(pid, N, BM), tl.load(a + start + tl.arange(0, BM)))


@triton.jit
def looping(a, c, M, N, sam):
    i = tl.program_id(0)
    p = a + i
    while i < N:
        tl.store(c + i, tl.load(p))
        i += tl.num_programs(0)
        p += tl.num_programs(0)
    k = 0
    while k < M:
        if k % 2 == 0:
            tl.store(c + k * sam, 1.0)
        else:
            tl.store(c + k, 2.0)
        k += 4
    b = M
    while b > 0:
        tl.store(c + b, 0.0)
        b = b // 2


@triton.jit
def calls(a, c, M, N, sam, BM: tl.constexpr):
    pid = tl.program_id(0)
    s, t = pair(pid, sam)
    u = clipped(s)
    v = clipped(t, limit=M)
    w = u if M > N else v
    for step in tl.static_range(3):
        offs = (w + step) * BM + tl.arange(0, BM)
        tl.atomic_add(c + offs, 1.0, mask=offs < N)
    x = tl.where(pid > 3, s, 0)
    y = tl.maximum(x, -1) ^ 5
    z = (x << 3) | (y >> 1) & ~x
    big = 3000000000
    tl.store(c + z + big, tl.load(a - y + big * 1))
    tl.device_assert(z < N, "bound")
    tl.store(c + (z.to(tl.uint32) >> 2), (-pid).to(tl.float32) / 3)


@triton.jit
def blocks(a, c, M, N, sam, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    source = tl.make_block_ptr(
        base=a, shape=(M, N), strides=(sam, 1), offsets=(pid * BM, 0), block_shape=(BM, BN), order=(1, 0)
    )
    for _ in range(0, N, BN):
        x = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        source = tl.advance(source, (0, BN))
        if pid == 0:
            x += 1
        tl.store(c + pid, tl.sum(tl.sum(x, axis=1), axis=0))


@triton.jit
def persistent(a, c, M, N, sam, BM: tl.constexpr, SMS: tl.constexpr):
    start = tl.program_id(0)
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BM)
    tile_c = start - SMS
    for tile in tl.range(start, tiles, SMS, num_stages=2):
        row = tile // tl.cdiv(N, BM)
        col = tile % tl.cdiv(N, BM)
        tile_c += SMS
        offs = row * BM * sam + col * BM + tl.arange(0, BM)
        tl.store(c + offs, tl.load(a + offs) + tile_c)


@triton.jit
def widened(a, c, M, N, sam, BM: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    a_row = a + row * sam
    x = tl.zeros([BM], tl.float32)
    for off in range(0, N, BM):
        cols = off + tl.arange(0, BM)
        mask = cols < N
        x = tl.load(a_row + cols, mask=mask, other=float("-inf"))
        tl.store(c + row * sam + cols, x, mask=mask)
    if tl.program_id(1) == 0 and M > 1 or N < 3:
        tl.store(c + tl.argmax(x, axis=0), tl.max(x, axis=0))
