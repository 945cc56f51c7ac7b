/* The yardstick of bench_nnue.py: the same work on the same data with intrinsics, HIDDEN outputs in both layers.
   Compiled with -O3 -march=native -DWIDTH=... ; AVX-512 VNNI or AVX2. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define HIDDEN 32

#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define STEP 32
typedef __m512i vec;
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
#define STORE(p, v) _mm512_storeu_si512((void *)(p), v)
#define ADD16 _mm512_add_epi16
#define SUB16 _mm512_sub_epi16
#define DOT(s, x, w) _mm512_dpbusd_epi32(s, x, w)
#define SPREAD(p) _mm512_set1_epi32(*(const int32_t *)(p))
#define ADD32 _mm512_add_epi32
#define ZERO _mm512_setzero_si512()
static inline void clip_store(uint8_t *to, vec a)
{
    vec v = _mm512_min_epi16(_mm512_max_epi16(a, ZERO), _mm512_set1_epi16(127));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi16_epi8(v));
}
static inline void activate(uint8_t *to, vec a)
{
    vec v = _mm512_srai_epi32(a, 6);
    v = _mm512_min_epi32(_mm512_max_epi32(v, ZERO), _mm512_set1_epi32(127));
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(v));
}
#else
#define STEP 16
typedef __m256i vec;
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define ADD16 _mm256_add_epi16
#define SUB16 _mm256_sub_epi16
#define SPREAD(p) _mm256_set1_epi32(*(const int32_t *)(p))
#define ADD32 _mm256_add_epi32
#define ZERO _mm256_setzero_si256()
static inline vec DOT(vec s, vec x, vec w)
{
    return _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
}
static inline void clip_store(uint8_t *to, vec a)
{
    vec v = _mm256_max_epi8(_mm256_packs_epi16(a, a), ZERO);
    v = _mm256_permute4x64_epi64(v, 0x08);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(v));
}
static inline void activate(uint8_t *to, vec a)
{
    vec v = _mm256_srai_epi32(a, 6);
    v = _mm256_packs_epi32(v, v);
    v = _mm256_max_epi8(_mm256_packs_epi16(v, v), ZERO);
    v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
    _mm_storel_epi64((__m128i *)to, _mm256_castsi256_si128(v));
}
#endif

#define LANES (STEP / 2)
#define PARTS (HIDDEN / LANES)
#define CHAINS (PARTS >= 4 ? 2 : 4)

typedef struct {
    const int16_t *rows;
    const int32_t *bias_1, *bias_2, *bias_3;
    const int8_t *weights_1, *weights_2, *weights_3;
} network;

static inline void dense(const uint8_t *x, int inputs, const int8_t *weights, const int32_t *bias, vec *out)
{
    vec sums[CHAINS][PARTS];
    for (int c = 0; c < CHAINS; c++)
        for (int p = 0; p < PARTS; p++) sums[c][p] = c ? ZERO : LOAD(bias + p * LANES);
    for (int i = 0; i < inputs / 4; i += CHAINS)
        for (int c = 0; c < CHAINS; c++) {
            vec in = SPREAD(x + 4 * (i + c));
            for (int p = 0; p < PARTS; p++)
                sums[c][p] = DOT(sums[c][p], in, LOAD(weights + (i + c) * 4 * HIDDEN + p * 4 * LANES));
        }
    for (int p = 0; p < PARTS; p++) {
        out[p] = sums[0][p];
        for (int c = 1; c < CHAINS; c++) out[p] = ADD32(out[p], sums[c][p]);
    }
}

static inline int32_t forward_one(const network *n, const int16_t *own, const int16_t *other)
{
    uint8_t x[2 * WIDTH] __attribute__((aligned(64))), h[HIDDEN] __attribute__((aligned(64)));
    vec z[PARTS];
    for (int i = 0; i < WIDTH; i += STEP) {
        clip_store(x + i, LOAD(own + i));
        clip_store(x + WIDTH + i, LOAD(other + i));
    }
    dense(x, 2 * WIDTH, n->weights_1, n->bias_1, z);
    for (int p = 0; p < PARTS; p++) activate(h + p * LANES, z[p]);
    dense(h, HIDDEN, n->weights_2, n->bias_2, z);
    for (int p = 0; p < PARTS; p++) activate(h + p * LANES, z[p]);
    __m256i products = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)h),
                                            _mm256_loadu_si256((const __m256i *)n->weights_3));
    __m256i sums = _mm256_madd_epi16(products, _mm256_set1_epi16(1));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
    return _mm_cvtsi128_si32(s) + *n->bias_3;
}

static inline void replace_one(const network *n, const int16_t *from, int16_t *to, int64_t gone, int64_t new)
{
    const int16_t *g = n->rows + gone * WIDTH, *w = n->rows + new * WIDTH;
    for (int i = 0; i < WIDTH; i += STEP)
        STORE(to + i, ADD16(SUB16(LOAD(from + i), LOAD(g + i)), LOAD(w + i)));
}

/* accumulators[count + 1][2][WIDTH]; changes[count][2 players][gone, new]; each step updates both and evaluates if asked */
int64_t line(const network *n, int16_t *accumulators, const int64_t *changes, int64_t count, int64_t rounds, int64_t work)
{
    int64_t sum = 0;
    for (int64_t round = 0; round < rounds; round++)
        for (int64_t k = 0; k < count; k++) {
            int16_t *from = accumulators + 2 * WIDTH * k, *to = from + 2 * WIDTH;
            if (work & 1)
                for (int p = 0; p < 2; p++)
                    replace_one(n, from + p * WIDTH, to + p * WIDTH, changes[4 * k + 2 * p], changes[4 * k + 2 * p + 1]);
            if (work & 2) sum += forward_one(n, to + (~k & 1) * WIDTH, to + (k & 1) * WIDTH) / 16;
        }
    return sum;
}

/* one accumulator from a list of rows, in registers */
int64_t refresh(const network *n, int16_t *to, const int64_t *rows, int64_t count, int64_t rounds)
{
    for (int64_t round = 0; round < rounds; round++) {
        vec acc[WIDTH / STEP];
        for (int i = 0; i < WIDTH / STEP; i++) acc[i] = ZERO;
        for (int64_t r = 0; r < count; r++) {
            const int16_t *row = n->rows + rows[r] * WIDTH;
            for (int i = 0; i < WIDTH / STEP; i++) acc[i] = ADD16(acc[i], LOAD(row + i * STEP));
        }
        for (int i = 0; i < WIDTH / STEP; i++) STORE(to + i * STEP, acc[i]);
    }
    return to[0];
}
