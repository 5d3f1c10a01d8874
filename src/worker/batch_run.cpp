#include "worker/batch_run.hpp"

#include <poll.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "transport/descriptor_wait.hpp"

namespace danaus::worker {

namespace {

Error connected_too_late(const BatchLink& link) {
  return {ErrorCode::timeout,
          fmt::format("connecting to {} took until the deadline of the batch, so that nothing was "
                      "begun there; give it more time",
                      messages::to_string(link.peer)),
          {{"peer", link.peer.id}}};
}

}  // namespace

BatchRun::BatchRun(const BatchPlan& plan, ConnectionSource source, Clock::time_point deadline)
    : plan_{plan},
      source_{source},
      deadline_{deadline},
      links_(plan.links().size()),
      outcomes_(plan.operations().size()) {}

BatchRun::~BatchRun() {
  for (Link& link : links_) {
    for (; link.is_under_way(); ++link.over) {
      static_cast<void>(link.operations->wait(link.posted[link.over].id, Clock::now()));
    }
  }
}

BatchOutcomes BatchRun::run() {
  connect();
  // The last one is left to `finish`, which waits as a single operation does.
  while ((connecting_ > 0 || under_way() > 1) && Clock::now() < deadline_) {
    if (take_connections() || look_after_all()) {
      continue;
    }
    arm_all();
    if (!look_after_all()) {
      sleep();
    }
  }
  look_after_all();
  for (Link& link : links_) {
    finish(link);
  }
  await_connections();
  return std::move(outcomes_);
}

// -- connecting ---------------------------------------------------------------------------------

void BatchRun::connect() {
  std::vector<std::size_t> ready;
  for (std::size_t which = 0; which < links_.size(); ++which) {
    links_[which].operations = source_.cache.find(plan_.links()[which].key());
    if (links_[which].operations) {
      ready.push_back(which);
    } else {
      start_connecting(which);
    }
  }
  // Only now: while these are posted, the others connect.
  for (const std::size_t which : ready) {
    post(which);
  }
}

void BatchRun::start_connecting(std::size_t which) {
  if (!inbox_) {
    inbox_ = std::make_shared<ConnectionInbox>();
    membership_.emplace(source_.calls, *inbox_);
  }
  const BatchLink& link = plan_.links()[which];
  auto connecting = source_.manager.queue_pair(link.peer, link.incarnation, link.self_device,
                                               link.other_device, deadline_);
  const auto started =
      source_.calls.start<Connected>(source_.mailbox, std::move(connecting), "submitting a batch",
                                     [inbox = inbox_, which](Connected connected) {
                                       inbox->deliver(which, std::move(connected));
                                     });
  if (!started) {
    fail(which, started.error());
    return;
  }
  links_[which].connecting = true;
  ++connecting_;
}

bool BatchRun::take_connections() {
  if (connecting_ == 0) {
    return false;
  }
  const auto arrivals = inbox_->take();
  for (const auto& [which, connected] : arrivals) {
    settle(which, connected);
  }
  if (const auto reason = inbox_->ended()) {
    give_up_connecting(*reason);
  }
  return !arrivals.empty() || connecting_ == 0;
}

void BatchRun::settle(std::size_t which, const Connected& connected) {
  Link& link = links_[which];
  link.connecting = false;
  --connecting_;
  if (!connected) {
    fail(which, connected.error());
    return;
  }
  source_.cache.insert(plan_.links()[which].key(), connected->operations);
  if (Clock::now() >= deadline_) {
    fail(which, connected_too_late(plan_.links()[which]));
    return;
  }
  link.operations = connected->operations;
  post(which);
}

/// Past the deadline: the manager, which holds it too, says how each attempt ended.
void BatchRun::await_connections() {
  while (connecting_ > 0) {
    if (take_connections()) {
      continue;
    }
    pollfd arrival{.fd = inbox_->fd(), .events = POLLIN, .revents = 0};
    if (!transport::sleep_until_ready({&arrival, 1}, deadline_ + call_grace)) {
      give_up_connecting(no_answer_error("connecting for a batch"));
    }
  }
}

void BatchRun::give_up_connecting(const Error& reason) {
  for (std::size_t which = 0; which < links_.size(); ++which) {
    if (std::exchange(links_[which].connecting, false)) {
      --connecting_;
      fail(which, reason);
    }
  }
}

// -- operations ---------------------------------------------------------------------------------

void BatchRun::post(std::size_t which) {
  Link& link = links_[which];
  const std::vector<std::size_t>& indices = plan_.links()[which].operations;
  link.posted.reserve(indices.size());
  // Before posting, so that no thread of the transport is woken to drive what this one drives.
  link.polling.emplace(link.operations->queue_pair());
  for (const std::size_t index : indices) {
    const auto id = link.operations->submit(plan_.operations()[index].operation);
    if (id) {
      link.posted.push_back({index, *id});
    } else {
      outcomes_[index].outcome = std::unexpected{id.error()};
    }
  }
}

/// No operation of this link was begun.
void BatchRun::fail(std::size_t which, const Error& reason) {
  for (const std::size_t index : plan_.links()[which].operations) {
    outcomes_[index].outcome = std::unexpected{reason};
  }
}

std::size_t BatchRun::under_way() const {
  return static_cast<std::size_t>(std::ranges::count_if(links_, &Link::is_under_way));
}

/// Takes what is over; true: something was.
bool BatchRun::look_after(Link& link) {
  const std::size_t before = link.over;
  while (link.is_under_way()) {
    const Posted& posted = link.posted[link.over];
    auto result = link.operations->try_take(posted.id);
    if (!result) {
      break;
    }
    outcomes_[posted.index] = *std::move(result);
    ++link.over;
  }
  if (!link.is_under_way()) {
    link.polling.reset();
  }
  return link.over != before;
}

bool BatchRun::look_after_all() {
  bool moved = false;
  for (Link& link : links_) {
    moved = look_after(link) || moved;
  }
  return moved;
}

void BatchRun::arm_all() {
  for (Link& link : links_) {
    if (link.is_under_way()) {
      link.operations->arm();
    }
  }
}

/// Until an operation or a connection moves on, or the deadline.
void BatchRun::sleep() {
  std::vector<pollfd> descriptors;
  descriptors.reserve(links_.size() + 1);
  if (connecting_ > 0) {
    descriptors.push_back({.fd = inbox_->fd(), .events = POLLIN, .revents = 0});
  }
  for (const Link& link : links_) {
    if (link.is_under_way()) {
      descriptors.push_back({.fd = link.operations->fd(), .events = POLLIN, .revents = 0});
    }
  }
  static_cast<void>(transport::sleep_until_ready(descriptors, deadline_));
}

/// Waits for all of it. Past the deadline the first that is not over breaks the queue pair, and the
/// rest of this link ends with it.
void BatchRun::finish(Link& link) {
  for (; link.is_under_way(); ++link.over) {
    const Posted& posted = link.posted[link.over];
    outcomes_[posted.index] = link.operations->wait_for_result(posted.id, deadline_);
  }
  link.polling.reset();
}

}  // namespace danaus::worker
