/* A tree of linear threshold units over cleaned float columns: int64 label [n] and float probability [n, 2].

   model.h is written from the rule graph: COLUMNS, UNITS, weights [UNITS][COLUMNS], biases [UNITS], the bounds, the
   step and the value for missing of each column, and PATHS(U), one expression without branches over the truth of
   U(0) to U(UNITS - 1). All sums are exact in float, so neither the order of additions nor fused ones matter. */
#include <math.h>
#include <stdint.h>

#include "model.h"

#define BLOCK 64
#define LANE 16

/* Missing, clipped and rounded as the model says; the constants stand in locals so that the loop is vectorised. */
static inline void clean(float *cells, int j)
{
    const float lowest = low[j], highest = high[j], width = step[j], each = 1.0f / width, absent = missing[j];
    for (int r = 0; r < BLOCK; r++) {
        float x = cells[r];
        float bounded = x > lowest ? x : lowest;
        bounded = bounded < highest ? bounded : highest;
        float rounded = rintf(bounded * each) * width;
        cells[r] = x == x ? rounded : absent;
    }
}

void decide_rows(int64_t n, const float *restrict rows, int64_t *restrict label, float *restrict probability)
{
    float cells[COLUMNS][BLOCK] = {{0}};
    float sums[UNITS][BLOCK];
    int32_t fires[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = n - start < BLOCK ? n - start : BLOCK;
        const float *block = rows + start * COLUMNS;
        for (int j = 0; j < COLUMNS; j++)
            for (int64_t r = 0; r < size; r++)
                cells[j][r] = block[r * COLUMNS + j];
        for (int j = 0; j < COLUMNS; j++)
            clean(cells[j], j);
        for (int first = 0; first < BLOCK; first += LANE) {
            float sum[UNITS][LANE];
            for (int k = 0; k < UNITS; k++)
                for (int r = 0; r < LANE; r++)
                    sum[k][r] = biases[k];
            for (int j = 0; j < COLUMNS; j++)
                for (int k = 0; k < UNITS; k++)
                    for (int r = 0; r < LANE; r++)
                        sum[k][r] += weights[k][j] * cells[j][first + r];
            for (int k = 0; k < UNITS; k++)
                for (int r = 0; r < LANE; r++)
                    sums[k][first + r] = sum[k][r];
        }
#define U(k) (sums[k][r] >= 0.0f)
        for (int r = 0; r < BLOCK; r++)
            fires[r] = PATHS(U);
#undef U
        for (int64_t r = 0; r < size; r++)
            label[start + r] = fires[r];
        for (int64_t r = 0; r < size; r++) {
            probability[2 * (start + r)] = (float)(1 - fires[r]);
            probability[2 * (start + r) + 1] = (float)fires[r];
        }
    }
}
