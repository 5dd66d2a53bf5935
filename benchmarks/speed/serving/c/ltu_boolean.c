/* A tree of linear threshold units over Boolean columns: int64 label [n] and float probability [n, 2].

   model.h is written from the rule graph: COLUMNS, UNITS, weights [UNITS][2 * COLUMNS] of the columns that are 1 and of
   those that are 0 (a missing one is neither), biases [UNITS], and PATHS(U), one expression without branches over the
   truth of U(0) to U(UNITS - 1). All sums are whole numbers, so neither the order of additions nor fused ones matter. */
#include <stdint.h>

#include "model.h"

#define BLOCK 64
#define LANE 16

void decide_rows(int64_t n, const float *restrict rows, int64_t *restrict label, float *restrict probability)
{
    float cells[2 * COLUMNS][BLOCK] = {{0}};
    float sums[UNITS][BLOCK];
    int32_t fires[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = n - start < BLOCK ? n - start : BLOCK;
        const float *block = rows + start * COLUMNS;
        for (int j = 0; j < COLUMNS; j++)
            for (int64_t r = 0; r < size; r++)
                cells[j][r] = block[r * COLUMNS + j];
        for (int j = 0; j < COLUMNS; j++)
            for (int r = 0; r < BLOCK; r++) {
                float x = cells[j][r];
                cells[COLUMNS + j][r] = x <= 0.5f ? 1.0f : 0.0f;
                cells[j][r] = x > 0.5f ? 1.0f : 0.0f;
            }
        for (int first = 0; first < BLOCK; first += LANE) {
            float sum[UNITS][LANE];
            for (int k = 0; k < UNITS; k++)
                for (int r = 0; r < LANE; r++)
                    sum[k][r] = biases[k];
            for (int j = 0; j < 2 * COLUMNS; j++)
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
