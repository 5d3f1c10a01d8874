// Ring: a first-in first-out queue of fixed capacity, as a send queue is one. No allocation after
// its making. One thread at a time.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace danaus::transport::soft {

template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : slots_(capacity) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }

  /// The oldest is 0.
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return slots_[place(index)]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept {
    return slots_[place(index)];
  }
  [[nodiscard]] T& front() noexcept { return slots_[first_]; }
  [[nodiscard]] const T& front() const noexcept { return slots_[first_]; }

  /// There must be room.
  void push(T value) {
    slots_[place(size_)] = std::move(value);
    ++size_;
  }

  /// There must be one.
  T pop() {
    T value = std::exchange(slots_[first_], T{});
    --size_;
    // An empty one begins anew: so few that come and go use the same slots, which are in the cache.
    first_ = size_ == 0 || first_ + 1 == slots_.size() ? 0 : first_ + 1;
    return value;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t index) const noexcept {
    const std::size_t sum = first_ + index;
    return sum < slots_.size() ? sum : sum - slots_.size();
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace danaus::transport::soft
