/// Plans and files for the tests of the engine file.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/engine_file.h"
#include "engine/layout.h"

namespace strop::engine::testing {

/// y = Relu(x) + w over x: f32[n, 2], w: f32[1, 2], with a spare branch: every kind of step, storage, type and shape
/// instruction that a plan knows.
inline plan::Plan rich_plan() {
  using namespace plan;  // NOLINT: the plan's vocabulary
  Plan plan;
  plan.devices = {{"cpu", "baseline"}};
  plan.attrs = {{{"axis", "1"}, {"keep_dims", "true"}}, {}};
  Block main;
  main.name = "main";
  main.shapes.symbols = {"n", "?m"};
  main.shapes.instrs = {{ShapeOp::Symbol, 0},    {ShapeOp::Constant, 2},       {ShapeOp::Constant, 1},
                        {ShapeOp::Symbol, 1},    {ShapeOp::Add, 0, 0, 1},      {ShapeOp::Mul, 0, 0, 1},
                        {ShapeOp::Min, 0, 0, 1}, {ShapeOp::FloorDiv, 0, 5, 1}, {ShapeOp::Mod, 0, 5, 1},
                        {ShapeOp::Max, 0, 0, 1}, {ShapeOp::Constant, 0}};
  main.bindings = {{0, 0, 0}};
  main.inherited = {kNone, kNone};
  main.ranges = {{1, 64}, {}};
  main.checks = {{2, Relation::LessEqual, 0}};
  const TypeDesc rows{TypeKind::Tensor, DType::F32, std::vector<Reg>{0, 1}, {}, ""};
  const TypeDesc row{TypeKind::Tensor, DType::F32, std::vector<Reg>{2, 1}, {}, ""};
  const TypeDesc flag{TypeKind::Tensor, DType::Bool, std::vector<Reg>{}, {}, ""};
  const TypeDesc open{TypeKind::Tensor, DType::F32, std::vector<Reg>{3, 1}, {}, ""};
  const TypeDesc list{TypeKind::Sequence, DType::Undefined, std::nullopt, {}, "f32[?m, 2]"};
  main.values = {{"x", rows, Storage::Input, 0},
                 {"c", flag, Storage::Input, 1},
                 {"w", row, Storage::Weight, 0},
                 {"packed", row, Storage::None},
                 {"hidden", rows, Storage::Arena},
                 {"y", rows, Storage::Output, 0},
                 {"hidden in place", rows, Storage::View, kNone, 4, 10, kNone, 0, true},
                 {"open", open, Storage::Host},
                 {"list", list, Storage::Host},
                 {}};
  main.inputs = {{"x", 0, rows}, {"c", 1, flag}};
  main.outputs = {{"y", 5, rows}, {"list", 8, list}};
  Step launch;
  launch.op = "Add";
  launch.attrs = 0;
  launch.inputs = {0, 3};
  launch.outputs = {4};
  launch.variants = {{{{0, Relation::Divides, 5}}, "Add.cpu.tiles", 2, "nr=4,mc=8", {kNone, 1}},
                     {{}, "Add.cpu.other", 1, "", {kNone, 1}}};
  launch.onnx_nodes = {"add", "relu"};
  launch.why = "the fastest";
  launch.candidates = {{"Add.cpu.tiles", "nr=4", 1.5, 0.25, ""},
                       {"Add.cpu.other", "", std::nullopt, std::nullopt, "slow"}};
  Step generic;
  generic.kind = StepKind::Generic;
  generic.op = "If";
  generic.attrs = 1;
  generic.inputs = {1, 6, kNone};
  generic.outputs = {7, 8};
  generic.late = {{"starts", 1}};
  generic.blocks = {1, 2};
  Step copy;
  copy.kind = StepKind::Copy;
  copy.inputs = {6};
  copy.outputs = {5};
  copy.stream = 1;
  Step signal;
  signal.kind = StepKind::Signal;
  signal.event = 3;
  Step wait = signal;
  wait.kind = StepKind::Wait;
  main.steps = {launch, generic, copy, signal, wait};
  Block region;
  region.name = "branch";
  region.shapes.symbols = {"n"};
  region.shapes.instrs = {{ShapeOp::Symbol, 0}, {ShapeOp::Constant, 2}};
  region.inherited = {0};
  region.ranges = {{1, 64}};
  region.inputs = {{"x", 0, rows}};
  region.values = {{"x", rows, Storage::Input, 0}, {"y", rows, Storage::Output, 0}};
  region.outputs = {{"y", 1, rows}};
  Step inner;
  inner.kind = StepKind::Copy;
  inner.inputs = {0};
  inner.outputs = {1};
  region.steps = {inner};
  plan.blocks = {main, region, region};
  plan.weights = {{"w", DType::F32, {1, 2}, {"w"}, ""},
                  {"w", DType::U8, {24}, {"w", "scale"}, "folded; Add.cpu.tiles@2 panels"},
                  {"words", DType::String, {3}, {"words"}, ""},
                  {"nibbles", DType::I4, {3}, {}, "made by the compiler"}};
  return plan;
}

inline EngineImage rich_image() {
  EngineImage image;
  image.plan = std::make_shared<const plan::Plan>(rich_plan());
  const std::vector<float> w = {0.5F, -2};
  std::vector<uint8_t> packed(24);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i * 7);
  const std::vector<uint8_t> nibbles = {0x21, 0x03};
  Tensor words = Tensor::of_strings({3}, {"", "Zürich", std::string("a\0b", 3)});
  image.weights = {Tensor::of<float>(DType::F32, {1, 2}, w), Tensor::of<uint8_t>(DType::U8, {24}, packed), words,
                   Tensor::of<uint8_t>(DType::I4, {3}, nibbles)};
  image.record = {{"model_digest", "abc"}, {"fingerprint", "test"}, {"route", "plan.in_place=off"}};
  return image;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// The fixed part of a file's bytes, to be changed.
struct Fixed {
  FileHeader header;
  std::array<SectionEntry, kSections.size()> table;
};

inline Fixed fixed_of(const std::string& bytes) {
  Fixed fixed;
  std::memcpy(&fixed.header, bytes.data(), sizeof(fixed.header));
  std::memcpy(&fixed.table, bytes.data() + sizeof(fixed.header), sizeof(fixed.table));
  return fixed;
}

/// Puts the fixed part back with a digest that fits it.
inline void put(std::string& bytes, Fixed fixed) {
  const Digest digest = header_digest(fixed.header, fixed.table);
  std::copy(digest.bytes.begin(), digest.bytes.end(), fixed.header.digest);
  std::memcpy(bytes.data(), &fixed.header, sizeof(fixed.header));
  std::memcpy(bytes.data() + sizeof(fixed.header), &fixed.table, sizeof(fixed.table));
}

/// Recomputes every digest, as a forger would.
inline void forge(std::string& bytes) {
  Fixed fixed = fixed_of(bytes);
  SingleThread thread;
  for (SectionEntry& entry : fixed.table) {
    if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) continue;
    const Digest digest = section_digest(bytes_of(std::string_view(bytes).substr(entry.offset, entry.size)), thread);
    std::copy(digest.bytes.begin(), digest.bytes.end(), entry.digest);
  }
  put(bytes, fixed);
}

}  // namespace strop::engine::testing
