#include "transport/spin_credit.hpp"

#include <sched.h>

#include <algorithm>

namespace danaus::transport {
namespace {

bool runs_on_several_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // Fails with EINVAL on machines with more CPUs than the set holds (1,024): several, then.
  return sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

}  // namespace

SpinCredit::SpinCredit() noexcept : may_spin_{runs_on_several_cpus()} {}

bool SpinCredit::is_worth_spinning() noexcept {
  if (!may_spin_ || (credit_ == 0 && ++waits_ < waits_between_trials)) {
    return false;
  }
  waits_ = 0;
  return true;
}

void SpinCredit::paid() noexcept {
  credit_ = std::min(credit_ + 1, most);
}

void SpinCredit::was_in_vain() noexcept {
  credit_ -= std::min(credit_, price_of_a_vain_spin);
}

}  // namespace danaus::transport
