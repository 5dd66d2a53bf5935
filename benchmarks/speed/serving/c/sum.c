/* A sum of step functions of float columns and of points by the code of a category: int64 label [n] and float
   probability [n, 2].

   model.h is written from the rule graph: COLUMNS (of the matrix), JUMPS with places, cuts and jumps [JUMPS], where
   x > cut adds the jump; TABLES with codes [TABLES], the columns that hold codes, and points [TABLES][CODES]; START. All
   sums are exact in float, so the order of additions does not matter. Blocks of 64 rows stay in the first cache. */
#include <stdint.h>

#include "model.h"

#define BLOCK 64
#define LANE 32

void decide_rows(int64_t n, const float *restrict rows, int64_t *restrict label, float *restrict probability)
{
    float cells[COLUMNS][BLOCK] = {{0}};
    float sums[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = n - start < BLOCK ? n - start : BLOCK;
        const float *block = rows + start * COLUMNS;
        for (int j = 0; j < COLUMNS; j++)
            for (int64_t r = 0; r < size; r++)
                cells[j][r] = block[r * COLUMNS + j];
        for (int first = 0; first < BLOCK; first += LANE) {
            float sum[LANE];
            for (int r = 0; r < LANE; r++)
                sum[r] = START;
            for (int i = 0; i < JUMPS; i++) {
                const float *x = cells[places[i]] + first, cut = cuts[i], jump = jumps[i];
                for (int r = 0; r < LANE; r++)
                    sum[r] += x[r] > cut ? jump : 0.0f;
            }
            for (int r = 0; r < LANE; r++)
                sums[first + r] = sum[r];
        }
        for (int t = 0; t < TABLES; t++)
            for (int r = 0; r < BLOCK; r++)
                sums[r] += points[t][(int)cells[codes[t]][r]];
        for (int64_t r = 0; r < size; r++) {
            int fires = sums[r] > 0.0f;
            label[start + r] = fires;
            probability[2 * (start + r)] = (float)(1 - fires);
            probability[2 * (start + r) + 1] = (float)fires;
        }
    }
}
