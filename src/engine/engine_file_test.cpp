#include "engine/engine_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "engine/plan_codec.h"
#include "engine/small_plan.h"

namespace strop::engine {
namespace {

namespace fs = std::filesystem;
using testing::Fixed;
using testing::fixed_of;
using testing::forge;
using testing::put;
using testing::read_bytes;
using testing::rich_image;
using testing::write_bytes;

/// Plan and notes as bytes: two plans are equal if these are.
std::pair<std::vector<std::byte>, std::vector<std::byte>> encoded(const plan::Plan& plan) {
  return {encode_plan(plan, std::vector<WeightPlace>(plan.weights.size())), encode_notes(plan)};
}

class EngineFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("strop_engine_{}", ::getpid());
    fs::create_directories(folder_);
    path_ = (folder_ / "a.strop").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Digests write(const EngineImage& image, const WriteOptions& options = {}) {
    return write_engine(image, path_, threads_, options).value();
  }
  std::string bytes(const EngineImage& image = rich_image(), const WriteOptions& options = {}) {
    write(image, options);
    return read_bytes(path_);
  }
  Result<ReadEngine> read(const std::string& bytes, const ReadOptions& options = {}) {
    // A new file each time: mapped files may not change.
    const fs::path path = folder_ / "read.strop";
    fs::remove(path);
    write_bytes(path, bytes);
    return read_engine(path.string(), threads_, options);
  }
  /// The message without the file's name; "accepted" if there is none.
  std::string refusal(const std::string& bytes, const ReadOptions& options = {}) {
    const auto engine = read(bytes, options);
    if (engine.ok()) return "accepted";
    const std::string where = fmt::format("engine '{}': ", (folder_ / "read.strop").string());
    EXPECT_TRUE(engine.error().message.starts_with(where)) << engine.error().message;
    EXPECT_EQ(engine.error().code, ErrorCode::InvalidEngine);
    return engine.error().message.substr(where.size());
  }

  SingleThread threads_;
  fs::path folder_;
  std::string path_;
};

TEST_F(EngineFile, GivesBackWhatWasWritten) {
  const EngineImage image = rich_image();
  ASSERT_TRUE(plan::verify(*image.plan).ok()) << plan::verify(*image.plan).error().message;
  const Digests written = write(image);
  const auto read = read_engine(path_, threads_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(encoded(*read->image.plan), encoded(*image.plan));
  EXPECT_EQ(read->image.record, image.record);
  EXPECT_EQ(read->digests.file, written.file);
  EXPECT_EQ(read->digests.plan, written.plan);
  ASSERT_EQ(read->image.weights.size(), image.weights.size());
  for (size_t i = 0; i < image.weights.size(); ++i) {
    const Tensor& a = read->image.weights[i];
    const Tensor& b = image.weights[i];
    EXPECT_EQ(a.dtype(), b.dtype());
    EXPECT_EQ(a.dims(), b.dims());
    if (a.dtype() == DType::String) {
      EXPECT_EQ(a.strings(), b.strings());
    } else {
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(b.bytes())), 0) << i;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % kWeightAlignment, 0U);
    }
  }
}

// Spot checks of fields that `encoded` would miss if the encoder forgot them.
TEST_F(EngineFile, KeepsEveryField) {
  write(rich_image());
  const auto read = read_engine(path_, threads_);
  const plan::Block& main = read->image.plan->blocks[0];
  EXPECT_EQ(main.shapes.symbols, (std::vector<std::string>{"n", "?m"}));
  EXPECT_EQ(main.shapes.instrs[7], (plan::ShapeInstr{plan::ShapeOp::FloorDiv, 0, 5, 1}));
  EXPECT_EQ(main.ranges[0].max, 64);
  EXPECT_EQ(main.ranges[1].max, INT64_MAX);
  EXPECT_TRUE(main.values[6].in_place);
  EXPECT_EQ(main.values[6].offset_elements, 10);
  EXPECT_EQ(main.values[8].type.element, "f32[?m, 2]");
  const plan::Step& launch = main.steps[0];
  EXPECT_EQ(launch.variants[0].config, "nr=4,mc=8");
  EXPECT_EQ(launch.variants[0].tactic_version, 2);
  EXPECT_EQ(launch.variants[0].when[0].relation, plan::Relation::Divides);
  EXPECT_EQ(launch.variants[0].packed, (std::vector<int32_t>{plan::kNone, 1}));
  EXPECT_EQ(launch.onnx_nodes, (std::vector<std::string>{"add", "relu"}));
  EXPECT_EQ(launch.why, "the fastest");
  EXPECT_EQ(launch.candidates[0].time_us, 1.5);
  EXPECT_EQ(launch.candidates[0].spread_us, 0.25);
  EXPECT_EQ(launch.candidates[1].time_us, std::nullopt);
  EXPECT_EQ(launch.candidates[1].refused, "slow");
  EXPECT_EQ(main.steps[1].late[0].field, "starts");
  EXPECT_EQ(main.steps[1].blocks, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(main.steps[2].stream, 1);
  EXPECT_EQ(main.steps[3].event, 3);
  EXPECT_EQ(read->image.plan->blocks[2].inherited, (std::vector<int32_t>{0}));
  EXPECT_EQ(read->image.plan->attrs[0][1].text, "true");
  EXPECT_EQ(read->image.plan->weights[1].recipe, "folded; Add.cpu.tiles@2 panels");
  EXPECT_EQ(read->image.plan->weights[1].origins, (std::vector<std::string>{"w", "scale"}));
  EXPECT_EQ(read->image.plan->devices[0].target, "baseline");
}

TEST_F(EngineFile, SameInputSameBytesAlignedAsDocumented) {
  const std::string first = bytes();
  EXPECT_EQ(first, bytes());
  const Fixed fixed = fixed_of(first);
  EXPECT_EQ(fixed.table[0].offset, 4096U);
  for (const SectionEntry& entry : fixed.table) EXPECT_EQ(entry.offset % 4096, 0U);
  EXPECT_EQ(fixed.table[3].offset + fixed.table[3].size, first.size());
  EXPECT_EQ(fixed.header.file_size, first.size());
}

TEST_F(EngineFile, DigestsCoverWhatTheySay) {
  const Digests before = engine_digests(rich_image(), threads_);
  const auto after = [&](const std::function<void(plan::Plan&, EngineImage&)>& change) {
    EngineImage image = rich_image();
    plan::Plan plan = *image.plan;
    change(plan, image);
    image.plan = std::make_shared<const plan::Plan>(std::move(plan));
    return engine_digests(image, threads_);
  };
  const Digests notes = after([](plan::Plan& plan, EngineImage&) { plan.blocks[0].steps[0].why = "for no reason"; });
  EXPECT_EQ(notes.plan, before.plan);
  EXPECT_NE(notes.file, before.file);
  const Digests record = after([](plan::Plan&, EngineImage& image) { image.record["accuracy"] = "1e-6"; });
  EXPECT_EQ(record.plan, before.plan);
  EXPECT_NE(record.file, before.file);
  const Digests weights = after([](plan::Plan&, EngineImage& image) { image.weights[1] = Tensor(DType::U8, {24}); });
  EXPECT_NE(weights.plan, before.plan);
  EXPECT_NE(weights.file, before.file);
  const Digests steps = after([](plan::Plan& plan, EngineImage&) { plan.blocks[0].steps[2].stream = 2; });
  EXPECT_NE(steps.plan, before.plan);
  EXPECT_NE(steps.file, before.file);
}

// Keys of RFC 8032, section 7.1, test 1.
constexpr std::string_view kPrivateKey =
    "\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03"
    "\x1c\xae\x7f\x60";
constexpr std::string_view kPublicKey =
    "\xd7\x5a\x98\x01\x82\xb1\x0a\xb7\xd5\x4b\xfe\xd3\xc9\x64\x07\x3a\x0e\xe1\x72\xf3\xda\xa6\x23\x25\xaf\x02\x1a\x68"
    "\xf7\x07\x51\x1a";

TEST_F(EngineFile, Signatures) {
  const ReadOptions required{std::string(kPublicKey)};
  const std::string unsigned_bytes = bytes();
  std::string signed_bytes = bytes(rich_image(), {std::string(kPrivateKey)});
  EXPECT_EQ(refusal(signed_bytes, required), "accepted");
  EXPECT_EQ(refusal(signed_bytes), "accepted");
  EXPECT_EQ(signed_bytes, bytes(rich_image(), {std::string(kPrivateKey)}));
  EXPECT_EQ(refusal(unsigned_bytes, required), "it carries no signature, and one is required");
  std::string other_key(kPublicKey);
  other_key[3] ^= 1;
  EXPECT_EQ(refusal(signed_bytes, {other_key}), "its signature was not made with the required key");
  EXPECT_EQ(read(signed_bytes, {"short"})
                .error()
                .message.substr(fmt::format("engine '{}': ", (folder_ / "read.strop").string()).size()),
            "an Ed25519 public key has 32 bytes, this one has 5");
  for (size_t i = 0; i < 64; ++i) {
    std::string tampered = signed_bytes;
    tampered[tampered.size() - 1 - i] ^= 4;
    EXPECT_EQ(refusal(tampered, required), "its signature was not made with the required key");
  }
  std::string forged = signed_bytes;
  forged[fixed_of(forged).table[3].offset] ^= 1;
  forge(forged);
  EXPECT_EQ(refusal(forged, required), "its signature was not made with the required key");
  EXPECT_FALSE(write_engine(rich_image(), path_, threads_, {"short"}).ok());
}

TEST_F(EngineFile, WritingIsAllOrNothing) {
  const auto files = [&] { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); };
  EXPECT_EQ(write_engine(rich_image(), (folder_ / "missing" / "a.strop").string(), threads_).error().code,
            ErrorCode::NotFound);
  EXPECT_FALSE(write_engine(rich_image(), "/dev/full", threads_).ok());
  write(rich_image());
  const std::string before = read_bytes(path_);
  ASSERT_EQ(files(), 1);
  // A limit on the size of files stands for a full disk, in a process of its own.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{6000, 6000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EngineImage changed = rich_image();
    changed.record["route"] = "other";
    const auto written = write_engine(changed, path_, threads_);
    ::_exit(!written.ok() && written.error().code == ErrorCode::Io ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(read_bytes(path_), before);
}

TEST_F(EngineFile, EveryFlippedByteIsFound) {
  const std::string good = bytes();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    ASSERT_NE(refusal(bad), "accepted") << "byte " << i;
  }
}

// Behind digests that fit, a change is refused or leads to a plan that is sound.
TEST_F(EngineFile, EveryForgedByteIsRefusedOrSound) {
  const std::string good = bytes();
  const Fixed fixed = fixed_of(good);
  int accepted = 0;
  for (const SectionEntry& entry : fixed.table) {
    for (uint64_t i = entry.offset; i < entry.offset + entry.size; ++i) {
      for (const int mask : {0x01, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ mask);
        forge(bad);
        const auto engine = read(bad);
        if (!engine.ok()) continue;
        ++accepted;
        ASSERT_TRUE(plan::verify(*engine->image.plan).ok());
        ASSERT_EQ(engine->image.weights.size(), engine->image.plan->weights.size());
      }
    }
  }
  EXPECT_GT(accepted, 0);  // names, notes and weights may be anything
}

TEST_F(EngineFile, EveryTruncationIsRefused) {
  const std::string good = bytes();
  for (size_t length = 0; length < good.size(); ++length)
    ASSERT_NE(refusal(good.substr(0, length)), "accepted") << length;
  EXPECT_EQ(refusal(""), "this is not a Strop engine");
  EXPECT_EQ(refusal(good.substr(0, 63)), "the file is truncated within its header");
  EXPECT_EQ(refusal(good + "x"), fmt::format("it should have {} bytes and has {}: it is truncated or was appended to",
                                             good.size(), good.size() + 1));
}

TEST_F(EngineFile, ForgedHeadersAndTables) {
  const std::string good = bytes();
  const auto with = [&](const std::function<void(Fixed&)>& change) {
    std::string bad = good;
    Fixed fixed = fixed_of(bad);
    change(fixed);
    put(bad, fixed);
    return refusal(bad);
  };
  EXPECT_EQ(with([](Fixed&) {}), "accepted");
  EXPECT_EQ(with([](Fixed& f) { f.header.magic[0] = 'X'; }), "this is not a Strop engine");
  EXPECT_EQ(with([](Fixed& f) { f.header.version = 2; }),
            "it has format version 2, this Strop reads version 1: use the newer Strop that made it");
  EXPECT_EQ(with([](Fixed& f) { f.header.version = 0; }),
            "it has format version 0, this Strop reads version 1: build the engine again");
  EXPECT_EQ(with([](Fixed& f) { f.header.section_count = 5; }), "its section table is damaged");
  EXPECT_EQ(with([](Fixed& f) { f.header.flags = 2; }), "its header has unknown flags");
  EXPECT_EQ(with([](Fixed& f) { f.header.reserved = 1; }), "its header has unknown flags");
  EXPECT_EQ(with([](Fixed& f) { f.header.flags = 1; }), "entry 3 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[1].reserved = 1; }), "entry 1 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[2].reserved2 = 1; }), "entry 2 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[0].kind = 7; }), "entry 0 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { std::swap(f.table[0], f.table[1]); }), "entry 0 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[1].offset = f.table[0].offset; }), "entry 1 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[1].offset += 8; }), "entry 1 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[3].size += 1; }), "entry 3 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[3].size = UINT64_MAX; }), "entry 3 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[3].offset = UINT64_MAX - 4095; }), "entry 3 of its section table is not valid");
  EXPECT_EQ(with([](Fixed& f) { f.table[3].size -= 1; }), "its sections do not end where the file does");
  EXPECT_EQ(with([](Fixed& f) { f.table[2].digest[0] ^= 1; }), "its record section is damaged (digest mismatch)");
  std::string gap = good;
  gap[1000] = 1;
  EXPECT_EQ(refusal(gap), "bytes between its sections are damaged");
}

TEST_F(EngineFile, WeightsLieWithinTheirSection) {
  const EngineImage image = rich_image();
  const auto with = [&](size_t weight, WeightPlace place) {
    std::string bad = bytes(image);
    std::vector<WeightPlace> places = {{0, 8}, {64, 24}, {128, 34}, {192, 2}};
    Fixed fixed = fixed_of(bad);
    const auto same = encode_plan(*image.plan, places);
    EXPECT_EQ(std::memcmp(same.data(), bad.data() + fixed.table[0].offset, same.size()), 0);
    places[weight] = place;
    const auto plan = encode_plan(*image.plan, places);
    if (plan.size() != fixed.table[0].size) return std::string("another size");
    std::memcpy(bad.data() + fixed.table[0].offset, plan.data(), plan.size());
    forge(bad);
    return refusal(bad);
  };
  EXPECT_EQ(with(1, {256, 24}), "weight 'w': it lies outside the weights section");
  EXPECT_EQ(with(1, {64, 1000}), "weight 'w': it lies outside the weights section");
  EXPECT_EQ(with(1, {UINT64_MAX - 63, 24}), "weight 'w': it lies outside the weights section");
  EXPECT_EQ(with(1, {72, 24}), "weight 'w': it lies outside the weights section");
  EXPECT_EQ(with(1, {64, 25}), "weight 'w': its size does not fit its type");
  EXPECT_EQ(with(2, {128, 20}), "weight 'words': its strings are truncated");
  EXPECT_EQ(with(2, {128, 33}), "weight 'words': its strings are truncated");
  EXPECT_EQ(with(2, {128, 35}), "weight 'words': its strings have a wrong length");
}

}  // namespace
}  // namespace strop::engine
