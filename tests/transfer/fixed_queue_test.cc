#include "transfer/fixed_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <utility>

namespace stoker {
namespace {

TEST(FixedQueue, GivesItemsInTheOrderOfArrival) {
  std::mt19937 random(1);
  FixedQueue<int> queue(5);
  std::deque<int> twin;
  for (int i = 0; i < 1000; ++i) {
    if (twin.size() < queue.capacity() && random() % 2 == 0) {
      queue.Push(int{i});
      twin.push_back(i);
    } else if (!twin.empty()) {
      EXPECT_EQ(queue.front(), twin.front());
      EXPECT_EQ(queue.Pop(), twin.front());
      twin.pop_front();
    }
    ASSERT_EQ(queue.size(), twin.size());
    ASSERT_EQ(queue.empty(), twin.empty());
  }
}

TEST(FixedQueue, KeepsNothingOfWhatWasTaken) {
  FixedQueue<std::shared_ptr<int>> queue(2);
  auto item = std::make_shared<int>(1);
  queue.Push(std::shared_ptr<int>(item));
  EXPECT_EQ(item.use_count(), 2);
  queue.Pop();
  EXPECT_EQ(item.use_count(), 1);
}

TEST(FixedQueueDeathTest, RefusesMoreThanItsCapacity) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FixedQueue<int> queue(1);
  queue.Push(1);
  EXPECT_DEATH(queue.Push(2), "size_ < items_.size");
  queue.Pop();
  EXPECT_DEATH(queue.Pop(), "size_ > 0");
}

}  // namespace
}  // namespace stoker
