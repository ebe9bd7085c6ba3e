"""What may enter the openings. Positions, tokens and tensors are checked and widened here, and
nowhere else.
"""

import contextlib

import torch


def visible(x):
    """Whether Python may branch on the values of x: not under a compiler, a tracer, `torch.func`
    or on meta, where a branch would be missing, or be baked into what they make.
    """
    return (
        type(x) is torch.Tensor
        and not x.is_meta
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
    )


def wide(dtype):
    """The type to compute in: float64 for float64, float32 for all narrower ones."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def full_precision(device):
    """A region that autocast leaves alone; devices without autocast have nothing to leave."""
    if not torch.amp.is_autocast_available(device.type):
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)


def check_integers(name, x):
    """x as int64, or ValueError unless it is a tensor of integers."""
    if not isinstance(x, torch.Tensor) or not _whole(x.dtype):
        raise ValueError(f"{name} must be a tensor of integers, got {_kind(x)}")
    _check_dense(name, x)
    widened = x.to(torch.int64)
    if x.dtype == torch.uint64 and visible(widened) and bool((widened < 0).any()):
        raise ValueError(f"{name} must be below 2**63, got {widened.min().item() + 2**64}")
    return widened


def check_real(name, x):
    """x as int64, float32 or float64, or ValueError unless it is a tensor of real, finite numbers
    in which neighbouring integers differ.
    """
    check_type(name, x)
    if not x.is_floating_point():
        return check_integers(name, x)
    if x.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"{name} must be integers, float32 or float64: {x.dtype} cannot tell"
            " neighbouring positions apart (256 and 257 in bfloat16)"
        )
    if visible(x) and not bool(x.isfinite().all()):
        raise ValueError(f"{name} must be finite, got {x[~x.isfinite()][0].item()}")
    return x


def check_type(name, x):
    """ValueError unless x is a dense tensor of real numbers."""
    if not isinstance(x, torch.Tensor) or not (x.is_floating_point() or _whole(x.dtype)):
        raise ValueError(f"{name} must be a tensor of integers or floats, got {_kind(x)}")
    _check_dense(name, x)


def check_mask(attention_mask):
    """attention_mask as booleans, or ValueError: one of floats may be meant to be added to the
    scores, where 0 lets a key be read.
    """
    if (
        not isinstance(attention_mask, torch.Tensor)
        or attention_mask.is_floating_point()
        or attention_mask.is_complex()
    ):
        raise ValueError(
            "attention_mask must be a tensor of booleans or integers, True where a key may be"
            f" read; got {_kind(attention_mask)}"
        )
    _check_dense("attention_mask", attention_mask)
    return attention_mask.bool()


def check_positions(
    name, positions, length, batch=None, owner="queries and keys have", axes=None, device=None
):
    """positions as int64 or floats, or ValueError unless they are real numbers of shape (seq,),
    (1, seq) or (batch, seq) with seq == length; with axes, of that shape and one more dimension.
    With device, they have to be on it; one without values (meta) asks for nothing.
    """
    positions = check_real(name, positions)
    if device is not None and device.type != "meta" and positions.device != device:
        raise ValueError(
            f"{name} must be on {device}, where {owner} theirs, got {positions.device}"
        )
    own = (length,) if axes is None else (length, axes)
    if positions.ndim - len(own) not in (0, 1) or tuple(positions.shape[-len(own) :]) != own:
        rows = ", ".join(map(str, ("batch", *own)))
        raise ValueError(
            f"{name} must have shape {own} or ({rows}), got {tuple(positions.shape)}"
            + ("" if axes is None else f": {axes} numbers a token, one an axis")
        )
    if torch.compiler.is_compiling():  # comparing them would tie two sizes together in the graph
        return positions
    if batch is not None and positions.ndim > len(own) and positions.shape[0] not in (1, batch):
        raise ValueError(f"{name} has batch size {positions.shape[0]}, {owner} {batch}")
    return positions


def check_rows(name, positions):
    """positions as check_positions takes them, of whatever length."""
    positions = check_real(name, positions)
    if positions.ndim not in (1, 2):
        raise ValueError(
            f"{name} must have shape (len,) or (batch, len), got {tuple(positions.shape)}"
        )
    return positions


def check_pair(
    q, k, q_positions, k_positions, n_heads=None, head_dim=None, axes=None, heads_axis=1
):
    """The two positions, each through check_positions, after q and k went through check_heads; one
    tensor for both if one was given.
    """
    check_heads(q, k, n_heads, head_dim, heads_axis)
    same = k_positions is q_positions
    q_len, k_len = q.shape[3 - heads_axis], k.shape[3 - heads_axis]
    options = {"axes": axes, "device": q.device}
    q_positions = check_positions("q_positions", q_positions, q_len, q.shape[0], **options)
    if same and q_len == k_len:
        return q_positions, q_positions
    return q_positions, check_positions("k_positions", k_positions, k_len, k.shape[0], **options)


def check_embeddings(x, positions, d_model):
    """positions through check_positions, or ValueError unless x is (batch, seq, d_model), floating
    point.
    """
    check_floating("x", x)
    if x.ndim != 3 or x.shape[-1] != d_model:
        raise ValueError(f"x must have shape (batch, seq, {d_model}), got {tuple(x.shape)}")
    device = x.device if getattr(positions, "is_meta", False) else None  # others may be moved
    return check_positions("positions", positions, x.shape[1], x.shape[0], "x has", device=device)


def check_floating(name, x):
    """ValueError unless x is a floating-point tensor."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise ValueError(f"{name} must be a floating-point tensor, got {_kind(x)}")
    _check_dense(name, x)


def check_heads(q, k, n_heads=None, head_dim=None, heads_axis=1):
    """ValueError unless q and k are (batch, n_heads, len, head_dim) with the same batch and head
    size, or (batch, len, n_heads, head_dim) for heads_axis=2. Where n_heads is given, q has as
    many, and k as many or a divisor of it (grouped queries).
    """
    check_head("q", q, n_heads, head_dim, heads_axis)
    check_head("k", k, n_heads, head_dim, heads_axis)
    k_heads = k.shape[heads_axis]
    if n_heads and (not k_heads or n_heads % k_heads):
        raise ValueError(
            f"k must have {n_heads} heads, as q has, or a divisor of it, got {k_heads}"
        )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(
            f"q and k must agree in batch and head_dim, got {tuple(q.shape)} and {tuple(k.shape)}"
        )


def check_head(name, x, n_heads=None, head_dim=None, heads_axis=1):
    """ValueError unless x is a floating-point tensor with the axes of queries and keys. k may have
    fewer heads than n_heads.
    """
    check_heads_axis(heads_axis)
    check_floating(name, x)
    if (
        x.ndim != 4
        or (name != "k" and (n_heads or x.shape[heads_axis]) != x.shape[heads_axis])
        or (head_dim or x.shape[3]) != x.shape[3]
    ):
        heads = n_heads or "heads"
        axes = f"{heads}, len" if heads_axis == 1 else f"len, {heads}"
        raise ValueError(
            f"{name} must have shape (batch, {axes}, {head_dim or 'head_dim'}), got"
            f" {tuple(x.shape)}"
        )


def check_heads_axis(heads_axis):
    """ValueError unless it is 1 or 2."""
    if type(heads_axis) is not int or heads_axis not in (1, 2):
        raise ValueError(
            "heads_axis must be 1, for (batch, heads, len, head_dim), or 2, for (batch, len,"
            f" heads, head_dim), got {heads_axis!r}"
        )


def _check_dense(name, x):
    if x.layout is not torch.strided:
        raise ValueError(f"{name} must be a dense tensor, got {x.layout}")


def _whole(dtype):
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _kind(x):
    return x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
