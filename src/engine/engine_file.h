/// The engine file: writer and reader. The format is described byte by byte in docs/engine_format.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/threads.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace strop::engine {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr char kMagic[8] = {'S', 'T', 'R', 'O', 'P', 'E', 'N', 'G'};
inline constexpr int64_t kSectionAlignment = 4096;  ///< sections start on pages, so that weights can be mapped
inline constexpr int64_t kWeightAlignment = 64;

/// How and from what the engine was made. Keys are stable; values are text.
using EngineRecord = std::map<std::string, std::string>;

/// Before a symbol's name: the profile's optimum, as a number.
inline constexpr std::string_view kOptimumKey = "optimum/";

/// An engine in memory.
struct EngineImage {
  std::shared_ptr<const plan::Plan> plan;
  std::vector<Tensor> weights;  ///< parallel to plan->weights; after reading, views of the mapped file
  EngineRecord record;          ///< "model_digest", "fingerprint", "route", "timing_cache_digest", "accuracy", …
};

/// Digests of an engine.
struct Digests {
  Digest plan;  ///< steps, kernels and weights: what runs
  Digest file;  ///< everything
};

struct WriteOptions {
  std::string signing_key;  ///< raw Ed25519 private key (32 bytes); empty: unsigned
};

/// Writes atomically: temporary file, sync, rename. Returns the digests.
Result<Digests> write_engine(const EngineImage& image, const std::string& path, Threads& threads,
                             const WriteOptions& options = {});

/// The digests that write_engine would give.
Digests engine_digests(const EngineImage& image, Threads& threads);

struct ReadOptions {
  std::string
      required_key;  ///< raw Ed25519 public key (32 bytes): a valid signature by it is required; empty: not looked at
};

struct ReadEngine {
  EngineImage image;
  Digests digests;
};

/// Maps the file and checks, in this order: header and sizes, digests of all sections, the signature if required,
/// FlatBuffers' verifier, every index, offset, size and type. Nothing is interpreted before its digest was checked.
/// Errors are InvalidEngine and name the file.
Result<ReadEngine> read_engine(const std::string& path, Threads& threads, const ReadOptions& options = {});

/// The same for bytes in memory, aligned to kWeightAlignment, which `owner` keeps alive: weights stay there.
Result<ReadEngine> read_engine(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, Threads& threads,
                               const ReadOptions& options = {});

}  // namespace strop::engine
