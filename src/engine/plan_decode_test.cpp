// Sections that FlatBuffers' verifier accepts and that nobody writes: small ones that stand for huge plans.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/plan_codec.h"

namespace strop::engine {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Table;
using Tables = std::vector<Offset<Table>>;

// Places of fields in their tables (src/engine/plan.fbs): the n-th is 4 + 2n.
constexpr flatbuffers::voffset_t kPlanWeights = 8, kPlanAttrs = 10, kListFields = 4;
constexpr flatbuffers::voffset_t kWeightName = 4, kWeightDims = 8, kWeightOrigins = 10;

template <class T>
Offset<Table> table(FlatBufferBuilder& out, flatbuffers::voffset_t field, Offset<T> value) {
  const auto start = out.StartTable();
  out.AddOffset(field, value);
  return Offset<Table>(out.EndTable(start));
}

/// What decoding says of a plan with `lists` in one field: "" if it is accepted.
std::string outcome(FlatBufferBuilder& out, flatbuffers::voffset_t field, const Tables& lists) {
  out.Finish(table(out, field, out.CreateVector(lists)));
  const auto* begin = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  const auto decoded = decode_plan({begin, out.GetSize()});
  return decoded.ok() ? "" : decoded.error().message;
}

/// `count` weights that share what `make` puts into one of their fields.
template <class T>
std::string weights_sharing(flatbuffers::voffset_t field, int count,
                            const std::function<Offset<T>(FlatBufferBuilder&)>& make) {
  FlatBufferBuilder out;
  const Offset<T> shared = make(out);
  Tables weights;
  for (int i = 0; i < count; ++i) weights.push_back(table(out, field, shared));
  return outcome(out, kPlanWeights, weights);
}

TEST(PlanDecode, ATableInManyListsIsRefused) {
  FlatBufferBuilder out;
  const Tables fields(1000, table(out, kListFields, out.CreateString("name")));
  const auto shared = out.CreateVector(fields);
  Tables lists;
  for (int i = 0; i < 1000; ++i) lists.push_back(table(out, kListFields, shared));
  EXPECT_EQ(outcome(out, kPlanAttrs, lists), "the plan section is damaged");
}

TEST(PlanDecode, NumbersInManyTablesAreRefused) {
  const auto dims = [](FlatBufferBuilder& out) { return out.CreateVector(std::vector<int64_t>(1000, 1)); };
  EXPECT_EQ((weights_sharing<flatbuffers::Vector<int64_t>>(kWeightDims, 1, dims)), "");
  EXPECT_EQ((weights_sharing<flatbuffers::Vector<int64_t>>(kWeightDims, 1000, dims)), "the plan section is damaged");
}

TEST(PlanDecode, ListsOfTextsInManyTablesAreRefused) {
  using Texts = flatbuffers::Vector<Offset<flatbuffers::String>>;
  const auto origins = [](FlatBufferBuilder& out) {
    return out.CreateVector(std::vector<Offset<flatbuffers::String>>(1000, out.CreateString("w")));
  };
  EXPECT_EQ(weights_sharing<Texts>(kWeightOrigins, 1, origins), "");
  EXPECT_EQ(weights_sharing<Texts>(kWeightOrigins, 1000, origins), "the plan section is damaged");
}

TEST(PlanDecode, ATextMayBeSharedWithinReason) {
  const auto name = [](FlatBufferBuilder& out) { return out.CreateString(std::string(100'000, 'n')); };
  EXPECT_EQ(weights_sharing<flatbuffers::String>(kWeightName, 100, name), "");                                // 10 MB
  EXPECT_EQ(weights_sharing<flatbuffers::String>(kWeightName, 10'000, name), "the plan section is damaged");  // 1 GB
}

}  // namespace
}  // namespace strop::engine
