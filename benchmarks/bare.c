/* The bare loop in C: one arm, draws, state, leaving, counts; no policy. The twin of bare.py.

   A row of `out` per run: rewards, visits, steps by level of experience. The two-state loop is
   there twice: branching is faster where leaving is rare, no branch where it is not. */

#include <math.h>
#include <stdint.h>

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t stream_key(uint64_t seed, uint64_t run, uint64_t owner)
{
    return mix(mix(mix(seed + GOLDEN) ^ (run + GOLDEN)) + owner * GOLDEN);
}

static inline double draw(uint64_t key, int64_t n)
{
    return (double)(mix(key + (uint64_t)n * GOLDEN) >> 11) * 0x1p-53;
}

static void write_row(int64_t *row, int64_t won, int64_t ended, int64_t n, int64_t high)
{
    row[0] = won;
    row[1] = ended;
    row[2] = n - high;
    row[3] = high;
}

void two_state_branching(double mean, double q00, double q01, double q10, double q11,
                         int64_t start, uint64_t owner, uint64_t seed, int64_t first,
                         int64_t runs, int64_t visits, int64_t *out)
{
    double leave[2][2] = {{mean + (1.0 - mean) * q00, mean * q01},
                          {mean + (1.0 - mean) * q10, mean * q11}};
    for (int64_t run = 0; run < runs; run++) {
        uint64_t key = stream_key(seed, (uint64_t)(first + run), owner);
        int64_t n = 0, won = 0, high = 0, ended = 0, state = start;
        while (ended < visits) {
            double u = draw(key, ++n);
            int reward = u < mean;
            won += reward;
            high += state;
            if (u < leave[state][reward]) {
                ended++;
                state = start;
            } else
                state = reward;
        }
        write_row(out + 4 * run, won, ended, n, high);
    }
}

void two_state_smooth(double mean, double q00, double q01, double q10, double q11, int64_t start,
                      uint64_t owner, uint64_t seed, int64_t first, int64_t runs, int64_t visits,
                      int64_t *out)
{
    double leave[2][2] = {{mean + (1.0 - mean) * q00, mean * q01},
                          {mean + (1.0 - mean) * q10, mean * q11}};
    for (int64_t run = 0; run < runs; run++) {
        uint64_t key = stream_key(seed, (uint64_t)(first + run), owner);
        int64_t n = 0, won = 0, high = 0, ended = 0, state = start;
        while (ended < visits) {
            double u = draw(key, ++n);
            int reward = u < mean;
            int left = u < leave[state][reward];
            won += reward;
            high += state;
            ended += left;
            state = left ? start : reward;
        }
        write_row(out + 4 * run, won, ended, n, high);
    }
}

void ema(double mean, double theta, double c6, double start, uint64_t owner, uint64_t seed,
         int64_t first, int64_t runs, int64_t visits, int64_t *out)
{
    double span = log1p(c6);
    for (int64_t run = 0; run < runs; run++) {
        uint64_t key = stream_key(seed, (uint64_t)(first + run), owner);
        int64_t n = 0, won = 0, ended = 0, steps[4] = {0, 0, 0, 0};
        double state = start;
        while (ended < visits) {
            double u = draw(key, ++n);
            int reward = u < mean;
            double next = (1.0 - theta) * state + theta * reward;
            double leave = 1.0 - log1p(c6 * next) / span;
            int left = u < (reward ? mean * leave : mean + (1.0 - mean) * leave);
            int level = (int)(state * 4.0);
            steps[level < 3 ? level : 3]++;
            won += reward;
            ended += left;
            state = left ? start : next;
        }
        int64_t *row = out + 6 * run;
        row[0] = won;
        row[1] = ended;
        for (int level = 0; level < 4; level++)
            row[2 + level] = steps[level];
    }
}
