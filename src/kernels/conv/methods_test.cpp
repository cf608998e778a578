#include "kernels/conv/methods.h"

#include <gtest/gtest.h>

namespace strop::kernels::conv {
namespace {

TEST(Partition, BlocksNeverExceedWhatScratchMemoryIsSizedFor) {
  for (const int threads : {1, 2, 3, 16}) {
    for (int64_t items = 1; items < 40; ++items) {
      for (const int64_t most_items : {1, 2, 7, 50}) {
        for (const int64_t panels : {1, 2, 3, 20}) {
          for (const int64_t most_panels : {1, 4, 20}) {
            const Partition p = partition(items, most_items, panels, most_panels, threads);
            EXPECT_LE(ceil_div(items, p.item_blocks), most_items);
            EXPECT_LE(ceil_div(panels, p.channel_blocks), most_panels);
            EXPECT_LE(p.item_blocks, items);  // no empty tasks
            EXPECT_LE(p.channel_blocks, panels);
          }
        }
      }
    }
  }
}

TEST(Partition, SmallImagesWithManyChannelsAreSharedByChannels) {
  const Partition p = partition(9, 32, 32, 32, 2);  // 7x7 pixels in tiles of six, 512 channels
  EXPECT_EQ(p.item_blocks, 1);
  EXPECT_EQ(p.channel_blocks, 8);
}

TEST(Sections, CoverTheSumOnceInOrder) {
  for (const int64_t taps : {1, 2, 9, 49}) {
    for (const int64_t depth : {1, 3, 64, 96, 300, 1024}) {
      for (const int64_t k_block : {1, 20, 256}) {
        const Sections sections(taps, depth, k_block);
        int64_t next = 0;
        for (int64_t i = 0; i < sections.count(); ++i) {
          const Section s = sections[i];
          EXPECT_EQ(s.tap * depth + s.offset, next);
          EXPECT_TRUE(s.taps == 1 || (s.offset == 0 && s.depth == depth));
          EXPECT_LE(s.taps, sections.most_taps());
          EXPECT_GT(s.taps * s.depth, 0);
          next += s.taps * s.depth;
        }
        EXPECT_EQ(next, taps * depth);
      }
    }
  }
}

}  // namespace
}  // namespace strop::kernels::conv
