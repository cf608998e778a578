#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace strop {
namespace {

// The examples of FIPS 180-4 (SHA256.pdf of NIST's example values), and the digest of nothing.
constexpr std::string_view kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kTwoBlocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr std::string_view kTwoBlocksText = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256("").hex(), kEmpty);
  EXPECT_EQ(sha256("abc").hex(), kAbc);
  EXPECT_EQ(sha256(kTwoBlocksText).hex(), kTwoBlocks);
}

TEST(Sha256, PiecesAddUpAndFinishStartsAnew) {
  Sha256 hash;
  for (const char c : kTwoBlocksText) hash.update(std::string_view(&c, 1));
  EXPECT_EQ(hash.finish().hex(), kTwoBlocks);
  EXPECT_EQ(hash.finish().hex(), kEmpty);
  hash.update("abc");
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.finish().hex(), kAbc);
}

TEST(Digest, ReadsItsText) {
  const Digest digest = sha256("abc");
  EXPECT_EQ(Digest::parse(digest.hex()).value(), digest);
  std::string capitals(kAbc);
  for (char& c : capitals) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(Digest::parse(capitals).value(), digest);
  EXPECT_NE(digest, sha256("abd"));
  EXPECT_LT(Digest(), digest);
  EXPECT_EQ(Digest::parse("ba78").error().message, "a SHA-256 digest has 64 hexadecimal digits, not 4");
  EXPECT_EQ(Digest::parse(std::string(62, '0') + "0x").error().message,
            "a SHA-256 digest has hexadecimal digits only, not '0x'");
}

TEST(Hash64, TellsSimilarTextsApart) {
  std::set<uint64_t> hashes;
  size_t texts = 0;
  for (size_t length = 0; length <= 70; ++length) {
    hashes.insert(hash64(std::string(length, '\0')));
    hashes.insert(hash64(std::string(length, 'a')));
    texts += length == 0 ? 1 : 2;
    for (size_t i = 0; i < length; ++i, ++texts) {
      std::string text(length, 'a');
      text[i] = 'b';
      hashes.insert(hash64(text));
    }
  }
  EXPECT_EQ(hashes.size(), texts);
  EXPECT_NE(hash64("abc", 1), hash64("abc", 2));
  EXPECT_EQ(hash64("abc", 1), hash64("abc", 1));
}

TEST(Hash64, OneBitOfInputChangesHalfTheBitsOfOutput) {
  for (const size_t length : {1, 7, 8, 9, 16, 40}) {
    double changed = 0;
    int trials = 0;
    for (uint8_t fill = 0; fill < 32; ++fill) {
      std::string text(length, static_cast<char>(fill * 37));
      const uint64_t before = hash64(text);
      for (size_t bit = 0; bit < length * 8; ++bit, ++trials) {
        std::string other = text;
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
        changed += std::popcount(before ^ hash64(other));
      }
    }
    EXPECT_NEAR(changed / trials, 32, 1.5) << length;
  }
}

TEST(Hash64, LowBitsOfConsecutiveNumbersSpread) {
  std::vector<int> buckets(1024, 0);
  for (uint64_t i = 0; i < 65536; ++i) ++buckets[hash_combine(0, i) % 1024];
  for (const int count : buckets) EXPECT_NEAR(count, 64, 48);  // six standard deviations
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
}

}  // namespace
}  // namespace strop
