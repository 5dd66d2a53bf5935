/* A disjunction of conjunctions over float columns: int64 label [n] and float probability [n, 2].

   model.h is written from the rule graph: COLUMNS (of the matrix), USED (columns that the rules read), PLACES (their
   positions) and RULES(X), one expression without branches over X(0) to X(USED - 1). Blocks of 64 rows stay in the
   first cache and are decided 8 or 16 at a time. */
#include <stdint.h>

#include "model.h"

#define BLOCK 64

static const int places[USED] = {PLACES};

static inline void answer(const int32_t *fires, int64_t n, int64_t *label, float *probability)
{
    for (int64_t r = 0; r < n; r++)
        label[r] = fires[r];
    for (int64_t r = 0; r < n; r++) {
        probability[2 * r] = (float)(1 - fires[r]);
        probability[2 * r + 1] = (float)fires[r];
    }
}

/* rows: a matrix [n, COLUMNS], row by row. */
void decide_rows(int64_t n, const float *restrict rows, int64_t *restrict label, float *restrict probability)
{
    float cells[USED][BLOCK] = {{0}};
    int32_t fires[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = n - start < BLOCK ? n - start : BLOCK;
        const float *block = rows + start * COLUMNS;
        for (int j = 0; j < USED; j++)
            for (int64_t r = 0; r < size; r++)
                cells[j][r] = block[r * COLUMNS + places[j]];
#define X(j) cells[j][r]
        for (int64_t r = 0; r < BLOCK; r++)
            fires[r] = RULES(X);
#undef X
        answer(fires, size, label + start, probability + 2 * start);
    }
}

/* columns: USED arrays [n] in the order of PLACES. */
void decide_columns(int64_t n, const float *const *columns, int64_t *restrict label, float *restrict probability)
{
    const float *cells[USED];
    int32_t fires[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = n - start < BLOCK ? n - start : BLOCK;
        for (int j = 0; j < USED; j++)
            cells[j] = columns[j] + start;
#define X(j) cells[j][r]
        for (int64_t r = 0; r < size; r++)
            fires[r] = RULES(X);
#undef X
        answer(fires, size, label + start, probability + 2 * start);
    }
}
