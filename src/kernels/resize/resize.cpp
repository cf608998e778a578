#include "kernels/resize/resize.h"

#include <algorithm>
#include <cstring>

#include "kernels/resize/resize_kernels.h"

namespace strop::kernels {
namespace {

constexpr int64_t kWorthThreads = 16 * 1024;  // floats written

// Floats of one worker's blended row, and pointers to what is blended, rounded up to whole cache lines.
int64_t row_floats(const ResizeProblem& p) { return (p.columns.in * p.inner + 15) / 16 * 16; }
int64_t pointer_bytes(const ResizeProblem& p) {
  const int64_t most = std::max(p.rows.taps, p.columns.taps);
  return (most * static_cast<int64_t>(sizeof(float*) + sizeof(float)) + 63) / 64 * 64;
}
int64_t worker_bytes(const ResizeProblem& p) {
  return row_floats(p) * static_cast<int64_t>(sizeof(float)) + pointer_bytes(p);
}

// Every element comes twice in a row.
bool is_doubling(const ResizeTable& table) {
  if (table.taps != 1 || table.out != 2 * table.in) return false;
  for (int64_t i = 0; i < table.out; ++i) {
    if (table.indices[static_cast<size_t>(i)] != i / 2) return false;
  }
  return true;
}

class RowResizer {
 public:
  explicit RowResizer(const ResizeProblem& problem)
      : p_(problem),
        kernels_(resize_kernels(problem.target)),
        doubles_(problem.inner == 1 && is_doubling(problem.columns)) {}

  // Result rows [begin, end) of outer * rows.out.
  void rows(int64_t begin, int64_t end, const float* input, float* output, std::byte* scratch) const {
    const int64_t out_row = p_.columns.out * p_.inner;
    for (int64_t row = begin; row < end; ++row) {
      float* out = output + row * out_row;
      const int64_t y = row % p_.rows.out;
      const bool repeats = row > begin && y > 0 && p_.rows.taps == 1 && source_row(y, 0) == source_row(y - 1, 0);
      if (repeats) {
        std::memcpy(out, out - out_row, static_cast<size_t>(out_row) * sizeof(float));
      } else {
        along(blended(input + row / p_.rows.out * p_.rows.in * p_.columns.in * p_.inner, y, scratch), out, scratch);
      }
    }
  }

 private:
  int64_t source_row(int64_t y, int64_t tap) const {
    return p_.rows.indices.empty() ? y : p_.rows.indices[static_cast<size_t>(tap * p_.rows.out + y)];
  }

  // Row y of the image resized along its height only: in scratch memory, or where it lies already.
  const float* blended(const float* image, int64_t y, std::byte* scratch) const {
    const int64_t row = p_.columns.in * p_.inner;
    if (p_.rows.taps == 1) return image + source_row(y, 0) * row;
    auto* to = reinterpret_cast<float*>(scratch);
    const auto [pointers, weights] = blend_arrays(scratch);
    for (int64_t k = 0; k < p_.rows.taps; ++k) {
      pointers[k] = image + source_row(y, k) * row;
      weights[k] = p_.rows.weights[static_cast<size_t>(k * p_.rows.out + y)];
    }
    kernels_.blend(pointers, weights, p_.rows.taps, row, to);
    return to;
  }

  void along(const float* row, float* out, std::byte* scratch) const {
    const ResizeTable& t = p_.columns;
    if (t.indices.empty()) {
      std::memcpy(out, row, static_cast<size_t>(t.out * p_.inner) * sizeof(float));
    } else if (doubles_) {
      kernels_.twice(row, t.in, out);
    } else if (p_.inner == 1) {
      kernels_.gather(row, t.indices.data(), t.taps == 1 ? nullptr : t.weights.data(), t.taps, t.out, out);
    } else {
      pixels(row, out, scratch);
    }
  }

  void pixels(const float* row, float* out, std::byte* scratch) const {
    const ResizeTable& t = p_.columns;
    const auto [pointers, weights] = blend_arrays(scratch);
    for (int64_t x = 0; x < t.out; ++x, out += p_.inner) {
      if (t.taps == 1) {
        std::memcpy(out, row + t.indices[static_cast<size_t>(x)] * p_.inner,
                    static_cast<size_t>(p_.inner) * sizeof(float));
        continue;
      }
      for (int64_t k = 0; k < t.taps; ++k) {
        pointers[k] = row + t.indices[static_cast<size_t>(k * t.out + x)] * p_.inner;
        weights[k] = t.weights[static_cast<size_t>(k * t.out + x)];
      }
      kernels_.blend(pointers, weights, t.taps, p_.inner, out);
    }
  }

  std::pair<const float**, float*> blend_arrays(std::byte* scratch) const {
    std::byte* at = scratch + row_floats(p_) * static_cast<int64_t>(sizeof(float));
    const int64_t most = std::max(p_.rows.taps, p_.columns.taps);
    return {reinterpret_cast<const float**>(at),
            reinterpret_cast<float*>(at + most * static_cast<int64_t>(sizeof(float*)))};
  }

  const ResizeProblem& p_;
  const ResizeKernels& kernels_;
  bool doubles_;
};

}  // namespace

int64_t resize_scratch_bytes(const ResizeProblem& problem, int threads) { return worker_bytes(problem) * threads; }

void resize(const ResizeProblem& problem, const float* input, float* output, void* scratch, Threads& threads) {
  const RowResizer resizer(problem);
  const int64_t row = std::max<int64_t>(problem.columns.out * problem.inner, 1);
  const int64_t grain = std::max<int64_t>(kWorthThreads / row, 1);
  parallel_for(threads, problem.outer * problem.rows.out, grain, [&](int64_t begin, int64_t end, int worker) {
    resizer.rows(begin, end, input, output, static_cast<std::byte*>(scratch) + worker * worker_bytes(problem));
  });
}

}  // namespace strop::kernels
