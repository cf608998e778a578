#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>

namespace strop {
namespace {

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.span<float>();
  return {values.begin(), values.end()};
}

Tensor counting(DType dtype, std::vector<int64_t> dims) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
  std::iota(values.begin(), values.end(), 0);
  return store_i64(dtype, std::move(dims), values);
}

TEST(Tensor, IsZeroFilledAlignedAndSharedByCopies) {
  const Tensor tensor(DType::F32, {3, 5});
  EXPECT_EQ(tensor.count(), 15);
  EXPECT_EQ(tensor.rank(), 2);
  EXPECT_EQ(tensor.bytes(), 60);
  EXPECT_EQ(floats(tensor), std::vector<float>(15, 0.0f));
  for (const int64_t size : {1, 17, 1000, 1 << 20}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor(DType::U8, {size}).raw()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor::uninitialized(DType::U8, {size}).raw()) % 64, 0u);
  }
  const Tensor copy = tensor;
  tensor.mutable_data<float>()[4] = 2;
  EXPECT_EQ(copy.data<float>()[4], 2);
  const Tensor clone = tensor.clone();
  tensor.mutable_data<float>()[4] = 3;
  EXPECT_EQ(clone.data<float>()[4], 2);
}

TEST(Tensor, UninitializedTouchesNoPages) {
  const auto resident_pages = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident;
  };
  const int64_t before = resident_pages();
  const Tensor uninitialized = Tensor::uninitialized(DType::F32, {int64_t{1} << 26});
  const Tensor zero(DType::F32, {int64_t{1} << 26});
  EXPECT_LT(resident_pages() - before, 2000);  // 8 MB at most, of 512
  EXPECT_EQ(zero.data<float>()[12345678], 0);
}

TEST(Tensor, EmptyAndScalarShapes) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(Tensor(DType::F32, {}).count(), 1);
  EXPECT_EQ(Tensor(DType::F32, {4, 0, 3}).count(), 0);
  EXPECT_TRUE(load_f64(Tensor(DType::F32, {0})).empty());
  EXPECT_EQ(Tensor(DType::F32, {0, 7}).clone().count(), 0);
  EXPECT_FALSE(Tensor().clone().defined());
}

TEST(Tensor, SizesThatOverflowAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_THROW(element_count({kHuge, kHuge}), Bug);
  EXPECT_THROW(element_count({2, -1}), Bug);
  EXPECT_EQ(element_count({kHuge, kHuge, 0}), 0);
  EXPECT_THROW(Tensor(DType::F64, {kHuge, 1 << 20}), std::bad_alloc);
  EXPECT_THROW(Tensor::uninitialized(DType::F64, {kHuge, 1 << 20}), std::bad_alloc);
}

TEST(Tensor, ViewsAreReadOnlyAndKeepTheirOwnerAlive) {
  auto bytes = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<float>> watch = bytes;
  Tensor view = Tensor::view(DType::F32, {2, 2}, bytes->data(), bytes);
  EXPECT_EQ(view.raw(), bytes->data());
  bytes.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(floats(view), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_THROW(view.mutable_raw(), Bug);
  EXPECT_THROW(view.reshaped({4}).mutable_raw(), Bug);
  view.clone().mutable_data<float>()[0] = 9;  // a clone is ours
  EXPECT_EQ(view.data<float>()[0], 1);
  view = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, AMisalignedViewIsACopy) {
  alignas(8) char file[12] = {};
  const float value = 1.25f;
  std::memcpy(file + 3, &value, sizeof(value));
  const Tensor view = Tensor::view(DType::F32, {1}, file + 3, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.raw()) % 4, 0u);
  EXPECT_EQ(view.data<float>()[0], 1.25f);
  EXPECT_THROW(view.mutable_raw(), Bug);
  EXPECT_EQ(Tensor::view(DType::U8, {1}, file + 3, nullptr).raw(), file + 3);
}

TEST(Tensor, BorrowWritesThrough) {
  std::vector<int32_t> values = {1, 2, 3};
  const Tensor tensor = Tensor::borrow(DType::I32, {3}, values.data());
  tensor.mutable_data<int32_t>()[1] = 20;
  EXPECT_EQ(values[1], 20);
}

TEST(Tensor, ReshapedSharesTheBytes) {
  const Tensor tensor = counting(DType::F32, {2, 3});
  const Tensor other = tensor.reshaped({3, 2});
  EXPECT_EQ(other.raw(), tensor.raw());
  EXPECT_EQ(other.dims(), (std::vector<int64_t>{3, 2}));
  EXPECT_THROW(tensor.reshaped({7}), Bug);
}

TEST(Tensor, Constructors) {
  EXPECT_EQ(load_f64(Tensor::scalar(DType::F16, 1.0 / 3)), std::vector<double>{0.333251953125});
  EXPECT_EQ(Tensor::scalar(DType::I8, 300).data<int8_t>()[0], 44);
  EXPECT_EQ(load_i64(Tensor::of_i64({4, -5})), (std::vector<int64_t>{4, -5}));
  const std::vector<float> values = {1, 2};
  EXPECT_EQ(floats(Tensor::of<float>(DType::F32, {2, 1}, values)), values);
  EXPECT_THROW(Tensor::of<float>(DType::F32, {3}, values), Bug);
}

TEST(Tensor, Strings) {
  const Tensor tensor = Tensor::of_strings({2}, {"a", "longer than a small string can be"});
  EXPECT_EQ(tensor.span<std::string>()[1], "longer than a small string can be");
  const Tensor clone = tensor.clone();
  tensor.mutable_strings()[0] = "b";
  EXPECT_EQ(clone.strings()[0], "a");
  EXPECT_EQ(Tensor(DType::String, {2}).strings(), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(tensor.reshaped({1, 2}).strings()[0], "b");
  EXPECT_THROW(Tensor::of_strings({3}, {"a"}), Bug);
  EXPECT_THROW(load_f64(tensor), Bug);
}

TEST(Elements, EveryRealTypeLoadsWhatWasStored) {
  const std::vector<double> values = {0, 1, 1, 0, 1};
  const std::vector<int64_t> integers = {0, 1, 1, 0, 1};
  for (int code = 1; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    if (dtype == DType::String || is_complex(dtype) || dtype == DType::F8E8M0) continue;
    EXPECT_EQ(load_f64(store_f64(dtype, {5}, values)), values) << to_string(dtype);
    EXPECT_EQ(load_f64(store_i64(dtype, {5}, integers)), values) << to_string(dtype);
    if (is_integer(dtype) || dtype == DType::Bool) {
      EXPECT_EQ(load_i64(store_i64(dtype, {5}, integers)), integers) << to_string(dtype);
    } else {
      EXPECT_THROW(load_i64(store_i64(dtype, {5}, integers)), Bug);
    }
  }
}

TEST(Elements, ConversionsRoundAndWrap) {
  const std::vector<double> values = {0.1, -300.7, 1e20};
  EXPECT_EQ(floats(store_f64(DType::F32, {3}, values)), (std::vector<float>{0.1f, -300.7f, 1e20f}));
  EXPECT_EQ(load_i64(store_f64(DType::I8, {3}, values)), (std::vector<int64_t>{0, -44, 0}));
  // 1e20 = 5 * 2^64 + 7766279631452241920
  EXPECT_EQ(load_i64(store_f64(DType::I64, {3}, values)), (std::vector<int64_t>{0, -300, 7766279631452241920}));
  const std::vector<int64_t> integers = {255, -1, int64_t{1} << 40};
  EXPECT_EQ(load_i64(store_i64(DType::U8, {3}, integers)), (std::vector<int64_t>{255, 255, 0}));
  EXPECT_EQ(load_i64(store_i64(DType::I32, {3}, integers)), (std::vector<int64_t>{255, -1, 0}));
  EXPECT_EQ(load_f64(store_i64(DType::U64, {3}, integers))[1], 18446744073709551616.0);
  EXPECT_EQ(store_i64(DType::I4, {3}, integers).bytes(), 2);
}

TEST(Elements, GatherMovesEveryTypeAndFillsNegativeIndices) {
  const std::vector<int64_t> index = {3, -1, 0, 3, 1};
  for (int code = 1; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    if (dtype == DType::String || is_complex(dtype) || dtype == DType::F8E8M0) continue;
    const Tensor source = store_i64(dtype, {4}, std::vector<int64_t>{0, 1, 0, 1});
    const Tensor fill = Tensor::scalar(dtype, 1);
    EXPECT_EQ(load_f64(gather_elements(source, {5, 1}, index)), (std::vector<double>{1, 0, 0, 1, 1}));
    EXPECT_EQ(load_f64(gather_elements(source, {5}, index, &fill)), (std::vector<double>{1, 1, 0, 1, 1}));
  }
  const std::vector<double> complex = {1, 2, 3, 4};
  const Tensor pairs = Tensor::of<double>(DType::C128, {2}, complex);
  const Tensor gathered = gather_elements(pairs, {3}, std::vector<int64_t>{1, -1, 0});
  const double* parts = gathered.data<double>();
  EXPECT_EQ(std::vector<double>(parts, parts + 6), (std::vector<double>{3, 4, 0, 0, 1, 2}));
}

TEST(Elements, GatherOfPackedAndStrings) {
  const Tensor packed = counting(DType::U4, {7});
  EXPECT_EQ(load_i64(gather_elements(packed, {3}, std::vector<int64_t>{6, 1, 3})), (std::vector<int64_t>{6, 1, 3}));
  const Tensor names = Tensor::of_strings({2}, {"x", "y"});
  const Tensor fill = Tensor::of_strings({}, {"?"});
  const std::vector<int64_t> index = {1, -1, 0};
  EXPECT_EQ(gather_elements(names, {3}, index).strings(), (std::vector<std::string>{"y", "", "x"}));
  EXPECT_EQ(gather_elements(names, {3}, index, &fill).strings(), (std::vector<std::string>{"y", "?", "x"}));
  EXPECT_THROW(gather_elements(names, {1}, std::vector<int64_t>{2}), Bug);
  EXPECT_THROW(gather_elements(packed, {1}, std::vector<int64_t>{7}), Bug);
  EXPECT_THROW(gather_elements(packed, {2}, std::vector<int64_t>{1}), Bug);
  EXPECT_THROW(gather_elements(packed, {1}, std::vector<int64_t>{-1}, &fill), Bug);
}

TEST(Elements, CopyStaysInItsRange) {
  for (const DType dtype : {DType::F32, DType::U8, DType::F16, DType::U4, DType::U2, DType::F64}) {
    const Tensor from = store_i64(dtype, {9}, std::vector<int64_t>{1, 2, 3, 1, 2, 3, 1, 2, 3});
    for (int64_t to_index = 0; to_index < 4; ++to_index) {
      for (int64_t from_index = 0; from_index < 4; ++from_index) {
        const Tensor to(dtype, {9});
        copy_elements(to, to_index, from, from_index, 5);
        const auto values = load_f64(to);
        for (int64_t i = 0; i < 9; ++i) {
          const bool inside = i >= to_index && i < to_index + 5;
          const double expected = inside ? static_cast<double>((i - to_index + from_index) % 3 + 1) : 0;
          EXPECT_EQ(values[static_cast<size_t>(i)], expected) << to_string(dtype) << to_index << from_index;
        }
      }
    }
    EXPECT_THROW(copy_elements(Tensor(dtype, {9}), 5, from, 0, 5), Bug);
    EXPECT_THROW(copy_elements(Tensor(dtype, {9}), 0, from, 5, 5), Bug);
  }
  const Tensor names = Tensor::of_strings({2}, {"x", "y"});
  const Tensor to(DType::String, {3});
  copy_elements(to, 1, names, 0, 2);
  EXPECT_EQ(to.strings(), (std::vector<std::string>{"", "x", "y"}));
  EXPECT_THROW(copy_elements(to, 0, counting(DType::U8, {2}), 0, 2), Bug);
}

TEST(Value, KnowsItsType) {
  EXPECT_EQ(to_string(Value().type()), "none");
  EXPECT_EQ(to_string(Value(Tensor(DType::F32, {2, 3})).type()), "f32[2, 3]");
  const Type element = Type::unranked(DType::I64);
  const Value sequence(SequenceValue{element, {Value(Tensor::of_i64({1})), Value(Tensor::of_i64({1, 2}))}});
  EXPECT_EQ(to_string(sequence.type()), "seq(i64[*])");
  EXPECT_EQ(sequence.sequence().items[1].tensor().count(), 2);
  EXPECT_EQ(to_string(Value(OptionalValue{element, nullptr}).type()), "optional(i64[*])");
}

}  // namespace
}  // namespace strop
