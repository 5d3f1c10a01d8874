#include "transport/soft/queue_pair_core.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "transport/descriptor_wait.hpp"

namespace danaus::transport::soft {

QueuePairCore::QueuePairCore(messages::QpInfo local, std::shared_ptr<const RegionTable> regions,
                             const QueuePairConfig& config, CompletionChannel channel,
                             std::shared_ptr<EngineState> engine)
    : local_{std::move(local)},
      regions_{std::move(regions)},
      paths_{engine->paths},
      requester_{regions_, config.max_send_wr, engine},
      receives_{config.max_recv_wr},
      channel_{std::move(channel)},
      background_{engine->data} {}

QueuePairCore::~QueuePairCore() = default;

// -- states ---------------------------------------------------------------------------------------

QueuePairState QueuePairCore::state() {
  const std::lock_guard lock{mutex_};
  if (state_ == QueuePairState::ready_to_send && requester_.peer_hung_up()) {
    enter_error();
  }
  return state_;
}

std::expected<void, Error> QueuePairCore::initialize() {
  const std::lock_guard lock{mutex_};
  if (state_ != QueuePairState::reset) {
    return std::unexpected{wrong_state("initialise")};
  }
  state_ = QueuePairState::init;
  return {};
}

std::expected<void, Error> QueuePairCore::connect(const messages::QpInfo& remote) {
  if (!remote.soft) {
    return std::unexpected{
        Error{ErrorCode::transport_mismatch,
              fmt::format("cannot connect soft queue pair {} to queue pair {}: the peer's endpoint "
                          "is not of a software device; name devices of one transport",
                          local_.qp_num, remote.qp_num)}};
  }
  if (remote.qp_num == 0 || remote.qp_num > max_queue_pair_number) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("cannot connect soft queue pair {} to queue pair number {}: numbers run "
                          "from 1 to {}; check the peer's endpoint",
                          local_.qp_num, remote.qp_num, max_queue_pair_number)}};
  }
  // Name resolution may take long: without the lock, and once.
  auto routes = resolve(*remote.soft, paths_);
  if (!routes) {
    return std::unexpected{std::move(routes).error()};
  }
  const std::lock_guard lock{mutex_};
  const QueuePairState state = state_;
  if (state == QueuePairState::ready_to_receive || state == QueuePairState::ready_to_send) {
    if (*remote_ == remote) {
      return {};
    }
    return std::unexpected{
        Error{ErrorCode::connect_conflict,
              fmt::format("cannot connect soft queue pair {} to queue pair {}: it is connected to "
                          "queue pair {} already; close it and connect anew",
                          local_.qp_num, remote.qp_num, remote_->qp_num)}};
  }
  if (state != QueuePairState::reset && state != QueuePairState::init) {
    return std::unexpected{wrong_state("connect")};
  }
  remote_ = remote;
  requester_.connect(*std::move(routes), Hello{.destination_queue_pair = remote.qp_num,
                                               .source_queue_pair = local_.qp_num,
                                               .token = remote.soft->token});
  // RTR and RTS at once: both sides know all they need, and the peer is dialled by the first post.
  state_ = QueuePairState::ready_to_send;
  return {};
}

std::optional<messages::QpInfo> QueuePairCore::remote() const {
  const std::lock_guard lock{mutex_};
  return remote_;
}

std::string_view QueuePairCore::path() const {
  const std::lock_guard lock{mutex_};
  return requester_.path();
}

bool QueuePairCore::copies(std::uint64_t length) const noexcept {
  const std::lock_guard lock{mutex_};
  return requester_.copies(length);
}

Error QueuePairCore::wrong_state(std::string_view what) const {
  return Error{ErrorCode::invalid_queue_pair_state,
               fmt::format("cannot {} soft queue pair {}: it is in {}; {}", what, local_.qp_num,
                           to_string(state_),
                           state_ == QueuePairState::error ? "ask for a new queue pair"
                                                           : "bring it to the right state first")};
}

// ERR: nothing outstanding, no connection either way. Under `mutex_`.
void QueuePairCore::enter_error() noexcept {
  state_ = QueuePairState::error;
  background_.detach(requester_.socket());
  requester_.fail(CompletionStatus::work_request_flushed);
  receives_.flush();
  channel_.signal();
  {
    // A turn of the responder that began before is over when this lock is had.
    const std::lock_guard turn{turn_mutex_};
  }
  if (const auto hang_up = std::exchange(hang_up_, nullptr)) {
    hang_up();
  }
}

void QueuePairCore::move_to_error() noexcept {
  const std::lock_guard lock{mutex_};
  if (state_ != QueuePairState::error) {
    enter_error();
  }
}

void QueuePairCore::close() noexcept {
  const std::lock_guard lock{mutex_};
  closed_ = true;
  if (state_ != QueuePairState::error) {
    enter_error();
  }
  background_.close();
}

// -- work requests --------------------------------------------------------------------------------

std::uint32_t QueuePairCore::free_slots() const {
  const std::lock_guard lock{mutex_};
  return requester_.free_slots();
}

std::expected<void, Error> QueuePairCore::check_form(const WorkRequest& request) const {
  if (request.length > max_work_request_length) {
    return std::unexpected{Error{
        ErrorCode::invalid_argument,
        fmt::format("cannot post {} bytes to soft queue pair {}: a work request moves at most "
                    "{}; split it",
                    request.length, local_.qp_num, max_work_request_length)}};
  }
  if (is_atomic(request.opcode) &&
      (request.length != atomic_length || !is_aligned_for_atomics(request.remote_address))) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("cannot post an atomic of {} bytes at {:#x} to soft queue pair {}: "
                          "atomics take 8 bytes at a multiple of 8; check the address",
                          request.length, request.remote_address, local_.qp_num)}};
  }
  return {};
}

std::expected<void, Error> QueuePairCore::post(const WorkRequest& request) {
  const std::lock_guard lock{mutex_};
  if (state_ != QueuePairState::ready_to_send && state_ != QueuePairState::error) {
    return std::unexpected{wrong_state("post to")};
  }
  if (auto checked = check_form(request); !checked) {
    return checked;
  }
  if (requester_.free_slots() == 0) {
    return std::unexpected{
        Error{ErrorCode::busy,
              fmt::format("cannot post to soft queue pair {}: its send queue is full; poll "
                          "completions first",
                          local_.qp_num)}};
  }
  // The first on an idle connection may be sent at once; behind others it waits for its turn.
  const bool was_blocked = requester_.wants_to_send();
  requester_.post(request);
  if (!was_blocked) {
    std::uint64_t budget = max_turn_length;
    requester_.send(budget);
  }
  // Who sleeps for a receive knows nothing of the socket as it is now.
  if (requester_.has_completions() || receives_.has_posted()) {
    channel_.signal();
  }
  settle();
  return {};
}

std::expected<void, Error> QueuePairCore::post_receive(std::uint64_t id) {
  const std::lock_guard lock{mutex_};
  if (state_ == QueuePairState::reset) {
    return std::unexpected{wrong_state("post a receive to")};
  }
  if (receives_.is_full()) {
    return std::unexpected{
        Error{ErrorCode::busy,
              fmt::format("cannot post a receive to soft queue pair {}: its receive queue is full; "
                          "poll completions first",
                          local_.qp_num)}};
  }
  receives_.post(id);
  if (state_ == QueuePairState::error) {
    receives_.flush();
    channel_.signal();
  } else if (const auto wake = std::exchange(wake_on_receive_, nullptr)) {
    wake();
  }
  return {};
}

std::size_t QueuePairCore::poll(std::span<WorkCompletion> completions) {
  const std::lock_guard lock{mutex_};
  channel_.acknowledge();
  if (!std::exchange(just_armed_, false) || requester_.has_to_copy()) {
    progress();
  }
  const std::size_t sent = requester_.take(completions);
  return sent + receives_.take(completions.subspan(sent));
}

void QueuePairCore::arm() {
  const std::lock_guard lock{mutex_};
  channel_.arm();
  just_armed_ = true;
  notifying_ = true;
  watch_socket();
}

// One turn in both directions: what is read makes room at the peer for what is written. Under
// `mutex_`.
void QueuePairCore::progress() {
  if (!requester_.has_outstanding()) {
    // Nobody reads the socket, but who waits for a receive waits in vain once the peer is gone.
    if (receives_.has_posted() && requester_.peer_hung_up()) {
      enter_error();
    }
    return;
  }
  std::uint64_t budget = max_turn_length;
  requester_.receive(budget);
  requester_.send(budget);
  settle();
}

// After anything that may have changed the requester. Under `mutex_`.
void QueuePairCore::settle() {
  if (requester_.failed() && state_ != QueuePairState::error) {
    enter_error();
  }
  watch_socket();
  if (requester_.has_to_copy()) {
    channel_.signal();
  }
  if (pollers_ == 0) {
    hand_over();
  }
}

// Has `fd` tell of the socket to those who sleep on it. Under `mutex_`.
void QueuePairCore::watch_socket() {
  if (requester_.socket() < 0) {
    background_.forget();
    channel_.forget();
    return;
  }
  if (known_dial_ != requester_.dials()) {
    known_dial_ = requester_.dials();
    background_.forget();
    channel_.forget();
  }
  if (!channel_.watch(requester_.socket(), notifying_, requester_.wants_to_send())) {
    requester_.fail(CompletionStatus::general_error);
    enter_error();
  }
}

// -- progress without a polling caller ------------------------------------------------------------

void QueuePairCore::begin_polling() noexcept {
  const std::lock_guard lock{mutex_};
  ++pollers_;
  notifying_ = false;
  background_.detach(requester_.socket());
}

void QueuePairCore::end_polling() noexcept {
  const std::lock_guard lock{mutex_};
  if (--pollers_ == 0) {
    hand_over();
  }
}

bool QueuePairCore::sleep(std::chrono::steady_clock::time_point deadline) {
  std::array<pollfd, 2> descriptors{};
  {
    std::unique_lock lock{mutex_};
    if (requester_.has_completions() || receives_.has_completions()) {
      return true;
    }
    if (requester_.has_to_copy()) {
      return std::chrono::steady_clock::now() < deadline;
    }
    // Who may be woken by a receive does not sleep in the socket.
    if (!receives_.has_posted() && deadline - std::chrono::steady_clock::now() > read_limit) {
      if (const std::size_t size = requester_.begin_read(); size != 0) {
        read_answers(lock, size);
        return true;
      }
    }
    channel_.arm();
    const int to_send = requester_.wants_to_send() ? POLLOUT : 0;
    descriptors = {{{channel_.event(), POLLIN, 0},
                    {requester_.socket(), static_cast<short>(POLLIN | to_send), 0}}};
  }
  // Should the socket be closed meanwhile, then `channel_` is signalled.
  return sleep_until_ready(descriptors, deadline);
}

// Sleeps in the receive itself, for a moment at most: that saves small operations a poll(2).
void QueuePairCore::read_answers(std::unique_lock<std::mutex>& lock, std::size_t size) {
  const int socket = requester_.socket();
  std::array<std::byte, inbox_frames * sizeof(Response)> bytes;  // NOLINT: filled as far as read
  lock.unlock();
  const ssize_t result = ::recv(socket, bytes.data(), size, 0);
  lock.lock();
  // An error or the end will be met again, by the next to read.
  requester_.end_read(std::span{bytes}.first(result > 0 ? static_cast<std::size_t>(result) : 0));
  if (std::exchange(peer_gone_, false) && state_ != QueuePairState::error) {
    lose_peer();
  }
  settle();
}

// Leaves outstanding work to the data thread. Under `mutex_`.
void QueuePairCore::hand_over() {
  if (closed_ || requester_.socket() < 0) {
    return;
  }
  if (!requester_.has_outstanding()) {
    background_.detach(requester_.socket());
    return;
  }
  const auto turn_after = [weak = weak_from_this()](void (BackgroundProgress::*what)() noexcept) {
    return [weak, what] {
      if (const auto self = weak.lock()) {
        self->data_turn(what);
      }
    };
  };
  if (requester_.has_to_copy()) {
    background_.take_turn(turn_after(&BackgroundProgress::turn_began));
    return;
  }
  if (!background_.attach(requester_.socket(), requester_.wants_to_send(),
                          turn_after(&BackgroundProgress::wait_ended))) {
    requester_.fail(CompletionStatus::general_error);
    enter_error();
  }
}

// On the data thread, after what is told to `background_`.
void QueuePairCore::data_turn(void (BackgroundProgress::*what)() noexcept) {
  const std::lock_guard lock{mutex_};
  (background_.*what)();
  if (closed_ || pollers_ != 0) {
    return;
  }
  progress();
  if (requester_.has_completions()) {
    channel_.signal();
  }
}

// -- the responder --------------------------------------------------------------------------------

bool QueuePairCore::takes_requests() const noexcept {
  const QueuePairState state = state_;
  return state == QueuePairState::ready_to_receive || state == QueuePairState::ready_to_send;
}

Admission QueuePairCore::admit(std::uint32_t source, const messages::FixedBytes<16>& token,
                               std::function<void()> hang_up) {
  const std::lock_guard lock{mutex_};
  if (!messages::equal_in_constant_time(token, local_.soft->token)) {
    return Admission::refused;
  }
  switch (state_.load()) {
    case QueuePairState::reset:
    case QueuePairState::init:
      return Admission::not_ready;
    case QueuePairState::ready_to_receive:
    case QueuePairState::ready_to_send:
      break;
    case QueuePairState::send_queue_drained:
    case QueuePairState::send_queue_error:
    case QueuePairState::error:
      return Admission::refused;
  }
  if (remote_->qp_num != source || hang_up_) {
    return Admission::refused;
  }
  hang_up_ = std::move(hang_up);
  return Admission::accepted;
}

Delivery QueuePairCore::deliver(std::uint32_t immediate, std::uint64_t length) {
  const std::lock_guard lock{mutex_};
  if (!takes_requests()) {
    return Delivery::refused;
  }
  if (!receives_.deliver(immediate, length)) {
    return Delivery::no_receive;
  }
  channel_.signal();
  return Delivery::delivered;
}

bool QueuePairCore::await_receive(std::function<void()> wake) {
  const std::lock_guard lock{mutex_};
  if (receives_.has_posted()) {
    return false;
  }
  wake_on_receive_ = std::move(wake);
  return true;
}

std::unique_lock<std::mutex> QueuePairCore::begin_turn() {
  std::unique_lock turn{turn_mutex_};
  if (!takes_requests()) {
    turn.unlock();
  }
  return turn;
}

void QueuePairCore::peer_gone() noexcept {
  const std::lock_guard lock{mutex_};
  if (state_ == QueuePairState::error) {
    return;
  }
  if (requester_.reading()) {
    peer_gone_ = true;
    return;
  }
  lose_peer();
}

// Under `mutex_`.
void QueuePairCore::lose_peer() noexcept {
  // What it said before it went counts: a status that is queued in the socket is the real error.
  std::uint64_t budget = max_turn_length;
  requester_.receive(budget);
  requester_.fail(requester_.has_outstanding() ? CompletionStatus::retry_exceeded
                                               : CompletionStatus::work_request_flushed);
  enter_error();
}

}  // namespace danaus::transport::soft
