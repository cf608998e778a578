// Each rule of the semantic check, with a plan that breaks just that rule.
#include <gtest/gtest.h>

#include <functional>

#include "plan/plan.h"

namespace strop::plan {
namespace {

TypeDesc tensor(std::vector<Reg> dims, DType dtype = DType::F32) {
  return {TypeKind::Tensor, dtype, std::move(dims), {}, ""};
}

Step operation(StepKind kind, std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  Step step;
  step.kind = kind;
  step.op = kind == StepKind::Copy ? "" : "Op";
  if (kind == StepKind::Launch)
    step.variants = {{{}, "Op.cpu.best", 1, "", std::vector<int32_t>(inputs.size(), kNone)}};
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  return step;
}

/// Registers: n, 2, 3, ?u, 6. x: f32[n, 2] → a: f32[2, 3], with weight w: f32[2, 3] → a step of one region gives
/// h: f32[?u] on the host → y: f32[2, 3], h.
Plan good_plan() {
  Plan plan;
  plan.devices = {{}};
  plan.weights = {{"w", DType::F32, {2, 3}, {}, ""}, {"p", DType::U8, {64}, {}, "packed"}};
  plan.attrs = {{}};
  Block main;
  main.shapes.symbols = {"n", "?u"};
  main.shapes.instrs = {{ShapeOp::Symbol, 0},
                        {ShapeOp::Constant, 2},
                        {ShapeOp::Constant, 3},
                        {ShapeOp::Symbol, 1},
                        {ShapeOp::Mul, 0, 1, 2}};
  main.bindings = {{0, 0, 0}};
  main.inherited = {kNone, kNone};
  main.ranges = {{}, {}};
  main.checks = {{1, Relation::Less, 2}};
  main.values = {{"x", tensor({0, 1}), Storage::Input, 0}, {"w", tensor({1, 2}), Storage::Weight, 0},
                 {"a", tensor({1, 2}), Storage::Arena},    {"v", tensor({1, 2}), Storage::View, kNone, 2},
                 {"h", tensor({3}), Storage::Host},        {"y", tensor({1, 2}), Storage::Output, 0}};
  main.inputs = {{"x", 0, main.values[0].type}};
  main.outputs = {{"y", 5, main.values[5].type}, {"h", 4, main.values[4].type}};
  main.steps = {operation(StepKind::Launch, {0, 1}, {2}), operation(StepKind::Generic, {3}, {4}),
                operation(StepKind::Copy, {3}, {5})};
  main.steps[1].blocks = {1};
  main.steps[1].late = {{"axes", 0}};
  Block region;
  region.shapes.symbols = {"n"};
  region.shapes.instrs = {{ShapeOp::Symbol, 0}};
  region.inherited = {0};
  region.ranges = {{}};
  region.values = {{"r", tensor({0}), Storage::Arena}, {"s", tensor({0}), Storage::Output, 0}};
  region.outputs = {{"s", 1, region.values[1].type}};
  region.steps = {operation(StepKind::Launch, {}, {0}), operation(StepKind::Copy, {0}, {1})};
  plan.blocks = {main, region};
  return plan;
}

std::string after(const std::function<void(Plan&)>& change) {
  Plan plan = good_plan();
  change(plan);
  const auto result = verify(plan);
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::InvalidEngine);
  return result.error().message;
}

std::string after_block(const std::function<void(Block&)>& change) {
  return after([&](Plan& plan) { change(plan.blocks[0]); });
}

TEST(VerifyPlan, AcceptsAGoodOne) {
  EXPECT_EQ(after([](Plan&) {}), "accepted");
}

TEST(VerifyPlan, Blocks) {
  EXPECT_EQ(after([](Plan& p) { p.blocks.clear(); }), "plan: it has no block");
  EXPECT_EQ(after([](Plan& p) { p.devices.clear(); }), "plan: it names no device");
  EXPECT_EQ(after([](Plan& p) { p.blocks[0].steps[1].blocks = {}; }), "plan: no step before block 1 runs it");
  EXPECT_EQ(after([](Plan& p) { p.blocks[0].steps[1].blocks = {2}; }), "plan: block 0 runs block 2 of 2");
  EXPECT_EQ(after([](Plan& p) { p.blocks[0].steps[1].blocks = {0}; }), "plan: block 0 runs block 0 of 2");
  EXPECT_EQ(after([](Plan& p) { p.blocks[0].steps[1].blocks = {1, 1}; }), "plan: block 1 is run by two steps");
  EXPECT_EQ(after([](Plan& p) {
              for (int32_t i = 1; i <= 65; ++i) {
                p.blocks[static_cast<size_t>(i)].steps[1] = operation(StepKind::Generic, {0}, {1});
                p.blocks[static_cast<size_t>(i)].steps[1].blocks = {i + 1};
                p.blocks.push_back(p.blocks[1]);
              }
            }),
            "plan: regions nested more than 64 deep");
}

TEST(VerifyPlan, Weights) {
  EXPECT_EQ(after([](Plan& p) { p.weights[1].dims = {-1}; }), "plan: weight 'p': a dimension of -1");
  EXPECT_EQ(after([](Plan& p) {
              p.weights[1].dims = {1 << 30, 1 << 30};
            }),
            "plan: weight 'p': more than 1099511627776 elements");
  EXPECT_EQ(after([](Plan& p) {
              p.weights[1].dims = {0, INT64_MAX, 2};
            }),
            "plan: weight 'p': more than 1099511627776 elements");
  EXPECT_EQ(after([](Plan& p) { p.weights[1].dtype = DType::Undefined; }),
            "plan: weight 'p': element type 0 is not known");
  EXPECT_EQ(after([](Plan& p) { p.weights[1].dtype = static_cast<DType>(99); }),
            "plan: weight 'p': element type 99 is not known");
}

TEST(VerifyPlan, ShapeProgram) {
  const auto with = [](ShapeInstr instr) { return after_block([&](Block& b) { b.shapes.instrs[4] = instr; }); };
  EXPECT_EQ(with({static_cast<ShapeOp>(8), 0, 0, 0}), "plan, block 0: shape instruction 4: operation 8 is not known");
  EXPECT_EQ(with({ShapeOp::Symbol, 2}), "plan, block 0: shape instruction 4: symbol 2 of 2");
  EXPECT_EQ(with({ShapeOp::Symbol, -1}), "plan, block 0: shape instruction 4: symbol -1 of 2");
  EXPECT_EQ(with({ShapeOp::Add, 0, 0, 4}), "plan, block 0: shape instruction 4: register 4 is not an earlier one");
  EXPECT_EQ(with({ShapeOp::Add, 0, -1, 0}), "plan, block 0: shape instruction 4: register -1 is not an earlier one");
}

TEST(VerifyPlan, Symbols) {
  EXPECT_EQ(after_block([](Block& b) { b.shapes.symbols[0] = ""; }), "plan, block 0: '' is not a name of a dimension");
  EXPECT_EQ(after_block([](Block& b) { b.shapes.symbols[0] = "a+b"; }),
            "plan, block 0: 'a+b' is not a name of a dimension");
  EXPECT_EQ(after_block([](Block& b) { b.shapes.symbols[1] = "n"; }), "plan, block 0: two dimensions are named 'n'");
  EXPECT_EQ(after_block([](Block& b) { b.ranges.pop_back(); }),
            "plan, block 0: 2 symbols with 2 inherited and 1 ranges");
  EXPECT_EQ(after_block([](Block& b) { b.inherited[0] = 0; }),
            "plan, block 0: 'n' inherits symbol 0, and there are 0 outside");
  EXPECT_EQ(after([](Plan& p) { p.blocks[1].inherited[0] = 2; }),
            "plan, block 1: 'n' inherits symbol 2, and there are 2 outside");
  EXPECT_EQ(after_block([](Block& b) { b.ranges[0] = {5, 4}; }), "plan, block 0: 'n' has the range 5..4");
  EXPECT_EQ(after_block([](Block& b) { b.bindings[0].symbol = 2; }), "plan, block 0: binding 0: symbol 2");
  EXPECT_EQ(after_block([](Block& b) { b.bindings[0].input = 1; }), "plan, block 0: binding 0: input 1");
  EXPECT_EQ(after_block([](Block& b) { b.bindings[0].axis = 2; }), "plan, block 0: binding 0: axis 2");
  EXPECT_EQ(after_block([](Block& b) { b.bindings[0].axis = 1; }),
            "plan, block 0: binding 0: the dimension is not the symbol");
  EXPECT_EQ(after_block([](Block& b) { b.bindings.push_back(b.bindings[0]); }),
            "plan, block 0: binding 1: the symbol is bound already");
  EXPECT_EQ(after_block([](Block& b) { b.checks[0].b = 5; }), "plan, block 0: a condition on registers 1 and 5 of 5");
  EXPECT_EQ(after_block([](Block& b) { b.checks[0].relation = static_cast<Relation>(4); }),
            "plan, block 0: relation 4 is not known");
}

TEST(VerifyPlan, Types) {
  const auto with = [](const std::function<void(TypeDesc&)>& change) {
    return after_block([&](Block& b) { change(b.values[2].type); });
  };
  EXPECT_EQ(with([](TypeDesc& t) { t.kind = static_cast<TypeKind>(4); }),
            "plan, block 0, value 2: kind of type 4 is not known");
  EXPECT_EQ(with([](TypeDesc& t) { t.kind = TypeKind::None; }), "plan, block 0, value 2: it has no type");
  EXPECT_EQ(with([](TypeDesc& t) { t.kind = TypeKind::Sequence; }),
            "plan, block 0, value 2: dimensions of something that is not a tensor");
  EXPECT_EQ(with([](TypeDesc& t) {
              t = {TypeKind::Sequence, DType::Undefined, std::nullopt, {}, "seq("};
            }),
            "plan, block 0, value 2: 'seq(' is not a type");
  EXPECT_EQ(with([](TypeDesc& t) { t.dtype = static_cast<DType>(27); }),
            "plan, block 0, value 2: element type 27 is not known");
  EXPECT_EQ(with([](TypeDesc& t) { (*t.dims)[0] = 5; }), "plan, block 0, value 2: dimension in register 5 of 5");
  EXPECT_EQ(with([](TypeDesc& t) { t.layout = {2, 8}; }), "plan, block 0, value 2: layout 2c8 at rank 2");
  EXPECT_EQ(with([](TypeDesc& t) { t.layout = {1, 0}; }), "plan, block 0, value 2: layout 1c0 at rank 2");
  EXPECT_EQ(after_block([](Block& b) { b.shapes.instrs[2].value = -3; }), "plan, block 0, value 1: a dimension of -3");
  EXPECT_EQ(after_block([](Block& b) { b.shapes.instrs[2].value = INT64_MAX; }),
            "plan, block 0, value 1: more than 1099511627776 elements");
  // A value that is only numbered has no dimensions that could be out of range.
  EXPECT_EQ(after_block([](Block& b) { b.values.emplace_back().type.dims = std::vector<Reg>{99}; }),
            "plan, block 0, value 6: element type 0 is not known");
}

TEST(VerifyPlan, Storage) {
  const auto with = [](size_t value, const std::function<void(ValueDesc&)>& change) {
    return after_block([&](Block& b) { change(b.values[value]); });
  };
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.storage = static_cast<Storage>(7); }),
            "plan, block 0, value 2: storage 7 is not known");
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.device = 1; }), "plan, block 0, value 2: device 1 of 1");
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.offset_elements = 5; }),
            "plan, block 0, value 2: offset in register 5, pitch in register -1 of 5");
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.pitch = 2; }),
            "plan, block 0, value 2: base, offset and pitch belong to views only");
  EXPECT_EQ(with(0, [](ValueDesc& v) { v.index = 1; }), "plan, block 0, value 0: it is not input 1");
  EXPECT_EQ(with(5, [](ValueDesc& v) { v.index = 1; }), "plan, block 0, value 5: it is not output 1");
  // Two values in one buffer of the caller's.
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.storage = Storage::Output, v.index = 0; }),
            "plan, block 0, value 2: it is not output 0");
  EXPECT_EQ(with(5, [](ValueDesc& v) { v.type.dims = std::vector<Reg>{3}; }),
            "plan, block 0, value 5: the size of an output buffer must be known before the run");
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.type.dims = std::vector<Reg>{3}; }),
            "plan, block 0, value 2: the size of what lies in the arena must be known before the run");
  EXPECT_EQ(with(2, [](ValueDesc& v) { v.type.dtype = DType::String; }),
            "plan, block 0, value 2: the size of what lies in the arena must be known before the run");
  EXPECT_EQ(with(1, [](ValueDesc& v) { v.index = 2; }), "plan, block 0, value 1: weight 2 of 2");
  EXPECT_EQ(with(1, [](ValueDesc& v) { v.index = 1; }), "plan, block 0, value 1: weight 'p' has another type");
  EXPECT_EQ(with(1,
                 [](ValueDesc& v) {
                   v.type.dims = std::vector<Reg>{0, 2};
                 }),
            "plan, block 0, value 1: weight 'w' has another type");
}

TEST(VerifyPlan, Views) {
  const auto with = [](const std::function<void(ValueDesc&)>& change) {
    return after_block([&](Block& b) { change(b.values[3]); });
  };
  EXPECT_EQ(with([](ValueDesc& v) { v.base = 3; }), "plan, block 0, value 3: a view of itself");
  EXPECT_EQ(with([](ValueDesc& v) { v.base = 6; }), "plan, block 0, value 3: a view of value 6");
  EXPECT_EQ(with([](ValueDesc& v) { v.base = 4; }), "plan, block 0, value 3: a view of a value that has no buffer");
  EXPECT_EQ(with([](ValueDesc& v) { v.type.dims = std::vector<Reg>{3}; }),
            "plan, block 0, value 3: the size of a view must be known before the run");
  EXPECT_EQ(with([](ValueDesc& v) { v.type.dtype = DType::F64; }),
            "plan, block 0, value 3: a view with elements of another width");
  EXPECT_EQ(with([](ValueDesc& v) { v.offset_elements = 3; }),
            "plan, block 0, value 3: the place of a view must be known before the run");
  EXPECT_EQ(with([](ValueDesc& v) { v.offset_elements = 1; }),
            "plan, block 0, value 3: a view that does not lie within value 2");
  EXPECT_EQ(with([](ValueDesc& v) {
              v.type.dims = std::vector<Reg>{2, 2};
            }),
            "plan, block 0, value 3: a view that does not lie within value 2");
  EXPECT_EQ(with([](ValueDesc& v) { v.type.dims = std::vector<Reg>{1}, v.whole = true; }),
            "plan, block 0, value 3: a view that does not lie within value 2");  // fewer elements than all
  EXPECT_EQ(with([](ValueDesc& v) { v.type.dims = std::vector<Reg>{1}, v.offset_elements = 2; }),
            "plan, block 0, step 2: a copy to another type");  // elements 3 and 4 of 6: the view itself is good
}

TEST(VerifyPlan, Ports) {
  EXPECT_EQ(after_block([](Block& b) { b.inputs[0].value = 9; }), "plan, block 0, value 0: it is not input 0");
  EXPECT_EQ(after_block([](Block& b) {
              b.inputs.push_back({"z", 9, b.inputs[0].type});
            }),
            "plan, block 0: input 'z' is value 9");
  EXPECT_EQ(after_block([](Block& b) { b.inputs[0].type.dtype = DType::F64; }),
            "plan, block 0: input 'x' does not fit its value");
  EXPECT_EQ(after_block([](Block& b) {
              b.outputs.push_back({"z", -1, b.inputs[0].type});
            }),
            "plan, block 0: output 'z' is value -1");
  EXPECT_EQ(after_block([](Block& b) {
              b.outputs.push_back({"z", 2, b.values[2].type});
            }),
            "plan, block 0: output 'z' does not fit its value");
  EXPECT_EQ(after_block([](Block& b) { b.outputs[1].type.dims.reset(); }),
            "plan, block 0: output 'h' does not fit its value");
  EXPECT_EQ(after_block([](Block& b) { b.steps.pop_back(); }), "plan, block 0: output 'y' is never written");
}

TEST(VerifyPlan, Steps) {
  const auto with = [](size_t step, const std::function<void(Step&)>& change) {
    return after_block([&](Block& b) { change(b.steps[step]); });
  };
  EXPECT_EQ(with(0, [](Step& s) { s.kind = static_cast<StepKind>(5); }),
            "plan, block 0, step 0: kind of step 5 is not known");
  EXPECT_EQ(with(0, [](Step& s) { s.device = -1; }), "plan, block 0, step 0: device -1 of 1");
  EXPECT_EQ(with(0, [](Step& s) { s.attrs = 1; }), "plan, block 0, step 0: attributes 1 of 1");
  EXPECT_EQ(with(0, [](Step& s) { s.outputs.clear(); }), "plan, block 0, step 0: an operator without a result");
  EXPECT_EQ(with(0,
                 [](Step& s) {
                   s.late = {{"axes", 0}};
                 }),
            "plan, block 0, step 0: late operands belong to generic steps");
  EXPECT_EQ(with(1, [](Step& s) { s.late[0].operand = 1; }), "plan, block 0, step 1: late operand 1 of 1");
  EXPECT_EQ(with(2,
                 [](Step& s) {
                   s.late = {{"axes", 0}};
                 }),
            "plan, block 0, step 2: only operators have variants, regions and late operands");
  EXPECT_EQ(with(0, [](Step& s) { s.inputs[0] = 6; }), "plan, block 0, step 0: operand 6 of 6 values");
  EXPECT_EQ(with(0, [](Step& s) { s.inputs[0] = 3; }), "plan, block 0, step 0: operand 3 is read before it is written");
  EXPECT_EQ(with(0, [](Step& s) { s.outputs[0] = -1; }), "plan, block 0, step 0: result -1 of 6 values");
  EXPECT_EQ(with(0, [](Step& s) { s.outputs[0] = 0; }),
            "plan, block 0, step 0: result 0 would overwrite an input or a weight");
  EXPECT_EQ(with(0, [](Step& s) { s.outputs[0] = 1; }),
            "plan, block 0, step 0: result 1 would overwrite an input or a weight");
  EXPECT_EQ(with(0, [](Step& s) { s.outputs[0] = 4; }), "plan, block 0, step 0: result 4 of a launch has no buffer");
  EXPECT_EQ(with(2, [](Step& s) { s.inputs = {}; }), "plan, block 0, step 2: a copy has one operand and one result");
  EXPECT_EQ(with(2, [](Step& s) { s.inputs = {0}; }), "plan, block 0, step 2: a copy to another type");
  // An operand of a size that is not known before the run.
  EXPECT_EQ(after_block([](Block& b) { b.steps.push_back(operation(StepKind::Launch, {4}, {2})); }),
            "plan, block 0, step 3: operand 4 of a launch: its size must be known before the run");
  EXPECT_EQ(after_block([](Block& b) {
              b.values.push_back({"none", tensor({1}), Storage::None});
              b.steps[0].inputs[0] = 6;
            }),
            "plan, block 0, step 0: operand 6 has no storage");
  EXPECT_EQ(after_block([](Block& b) {
              b.values.push_back({"none", tensor({1}), Storage::None});
              b.steps[0].outputs[0] = 6;
            }),
            "plan, block 0, step 0: result 6 has no storage");
  EXPECT_EQ(after_block([](Block& b) { b.values[3].pitch = 2; }),
            "plan, block 0, step 1: operand 3 has a pitch, which only launches may have");
}

TEST(VerifyPlan, Variants) {
  const auto with = [](const std::function<void(std::vector<Variant>&)>& change) {
    return after_block([&](Block& b) { change(b.steps[0].variants); });
  };
  EXPECT_EQ(with([](auto& v) { v.clear(); }), "plan, block 0, step 0: a launch has no variant");
  EXPECT_EQ(with([](auto& v) {
              v[0].when = {{0, Relation::Equal, 0}};
            }),
            "plan, block 0, step 0: the last variant has a condition");
  EXPECT_EQ(with([](auto& v) {
              v.push_back(v[0]);
              v[0].when = {{0, Relation::Equal, 7}};
            }),
            "plan, block 0, step 0: a condition on registers 0 and 7 of 5");
  EXPECT_EQ(with([](auto& v) { v[0].packed.pop_back(); }), "plan, block 0, step 0: 1 packed weights for 2 operands");
  EXPECT_EQ(with([](auto& v) { v[0].packed[1] = 2; }), "plan, block 0, step 0: packed weight 2 of 2");
  EXPECT_EQ(with([](auto& v) { v[0].packed[1] = 0; }),
            "plan, block 0, step 0: operand 1 is replaced by weight 'w', which is not packed");
  EXPECT_EQ(with([](auto& v) { v[0].packed[1] = 1; }), "accepted");
}

}  // namespace
}  // namespace strop::plan
