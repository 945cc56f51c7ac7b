"""What numba needs, in one place: decorators, cache folder, bitboards, memory intrinsics, SIMD vectors."""
