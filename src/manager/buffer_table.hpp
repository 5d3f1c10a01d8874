// BufferTable: the registered buffers by mr_id and by name, who registered each, and who may
// release it. `mailbox` thread.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/manager.hpp"
#include "memory/address_range.hpp"
#include "transport/transport.hpp"

namespace danaus::manager {

/// Most registrations at once; each costs a region per device.
inline constexpr std::size_t max_buffers = 65'536;
/// Longest buffer name, as of an identity.
inline constexpr std::size_t max_buffer_name_length = 200;

/// A memory region and the domain that it lives in, which must go after it.
struct DomainRegion {
  std::shared_ptr<transport::Domain> domain;
  std::unique_ptr<transport::MemoryRegion> region;
};

/// What is asked of a registration, besides the memory.
struct BufferTerms {
  /// Offered to others under this name; empty: not offered.
  std::string name;
  /// The identity that asked for it.
  std::string registrant;
  transport::AccessFlags access = transport::full_access;
  /// The offered buffer whose range this lies in, where another's right to register stems from
  /// that: it goes when that one goes.
  std::optional<std::uint64_t> within;
};

struct RegisteredBuffer {
  Registration registration;
  memory::AddressRange range;
  BufferTerms terms;
  /// The one of the chosen device first.
  std::vector<DomainRegion> regions;
};

class BufferTable {
 public:
  /// Draws an mr_id and takes the name, before the memory is registered. Errors: InvalidArgument
  /// (bad or taken name), ResourceExhausted.
  [[nodiscard]] std::expected<std::uint64_t, Error> reserve(const std::string& name);
  /// Gives back what `reserve` took.
  void cancel(const std::string& name);
  /// Fills a reserved place.
  void insert(RegisteredBuffer buffer);

  [[nodiscard]] const RegisteredBuffer* find(std::uint64_t mr_id) const;
  [[nodiscard]] const RegisteredBuffer* find(const std::string& name) const;
  /// An offered buffer that holds the whole range.
  [[nodiscard]] const RegisteredBuffer* offering(const memory::AddressRange& range) const;
  [[nodiscard]] std::vector<messages::NamedBuffer> offered() const;

  /// Takes a buffer out, together with those that others registered within it. Empty where there is
  /// none.
  [[nodiscard]] std::vector<RegisteredBuffer> remove(std::uint64_t mr_id);
  [[nodiscard]] std::vector<RegisteredBuffer> take_all();

  [[nodiscard]] std::size_t size() const noexcept { return buffers_.size(); }

 private:
  std::map<std::uint64_t, RegisteredBuffer> buffers_;
  /// A name that is reserved and not yet filled has no mr_id.
  std::map<std::string, std::optional<std::uint64_t>> names_;
  std::uint64_t next_mr_id_ = 1;
};

}  // namespace danaus::manager
