// The mechanics of io_uring: chains of open, read and close on direct descriptors, many at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace stoker {

// A ring with a fixed number of chains, each with its own direct descriptor, and an event that wakes the waiter.
// Threads: everything but Wake belongs to the thread that called Make, the ring's one submitter.
// What the kernel may still write to lives behind the pointer, so that it can be leaked as a whole where a read hangs.
class UringChains {
 public:
  explicit UringChains(uint32_t chains);
  ~UringChains();
  UringChains(const UringChains&) = delete;
  UringChains& operator=(const UringChains&) = delete;

  // Makes the ring with the best flags that this kernel knows. False with the reason where it cannot be had.
  bool Make(std::string& reason);

  // Reads into `memory` need not look its pages up any more. False with the reason where that is not to be had.
  bool LockMemory(std::span<uint8_t> memory, std::string& reason);

  // Queues open(`path`) -> read(`to`, at `offset`) -> close on chain `index`. The path and the memory must stay until
  // the chain comes back. Requires: the chain is not under way.
  void Queue(uint32_t index, const char* path, std::span<uint8_t> to, uint64_t offset) noexcept;
  // Hands over what was queued and lets the completions that are there arrive. Does not wait.
  void Submit() noexcept;
  // Asks the kernel to give the open or the read of a chain up; it comes back all the same.
  void Cancel(uint32_t index) noexcept;

  // A chain that came back, with the results of its steps: negative errno, or the bytes read.
  struct Finished {
    uint32_t index = 0;
    int open_result = 0;
    int read_result = 0;
    int64_t opened_ns = 0;  // when its open was seen to be done; 0: together with its read
  };
  // The next one that is there, at `now_ns`; false where there is none. Does not block.
  bool TakeFinished(int64_t now_ns, Finished& finished) noexcept;
  bool under_way(uint32_t index) const noexcept;

  // Submits, and blocks until a completion is there or the timeout passed.
  void Wait(std::chrono::nanoseconds timeout) noexcept;
  // Makes a Wait, now or next, return. From any thread.
  void Wake() noexcept;
  // Whether Wake was called since the last time this was asked; arms the event again.
  bool TakeWoken() noexcept;

  // Leaves ring, event and chain states to the kernel for ever.
  void Abandon() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker
