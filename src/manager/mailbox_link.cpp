#include "manager/manager.hpp"
#include "manager/peer_link.hpp"

namespace danaus::manager {
namespace {

class MailboxLink final : public PeerLink {
 public:
  explicit MailboxLink(mailbox::Mailbox& mailbox) : mailbox_{mailbox} {}

  const messages::ActorRef& self() const noexcept override { return mailbox_.self(); }
  const messages::Incarnation& incarnation() const noexcept override {
    return mailbox_.incarnation();
  }
  asio::io_context& context() noexcept override { return mailbox_.context(); }

  asio::awaitable<mailbox::PeerReply> request(messages::ActorRef to,
                                              std::optional<messages::Incarnation> incarnation,
                                              messages::Message message,
                                              mailbox::Clock::time_point deadline) override {
    return mailbox_.request(std::move(to), incarnation, std::move(message), deadline);
  }

  void cast(const messages::ActorRef& to, const std::optional<messages::Incarnation>& incarnation,
            const messages::Message& message) override {
    mailbox_.cast(to, incarnation, message);
  }

  std::map<std::string, std::uint64_t> counters() const override { return mailbox_.counters(); }

 private:
  mailbox::Mailbox& mailbox_;
};

}  // namespace

std::unique_ptr<PeerLink> make_mailbox_link(mailbox::Mailbox& mailbox) {
  return std::make_unique<MailboxLink>(mailbox);
}

Manager::Manager(ManagerConfig config, mailbox::Mailbox& mailbox, asio::io_context& device_work,
                 asio::io_context& data, std::vector<std::unique_ptr<transport::Device>> devices,
                 std::function<std::map<std::string, std::uint64_t>()> counters)
    : Manager{std::move(config),  make_mailbox_link(mailbox), device_work, data,
              std::move(devices), std::move(counters)} {}

}  // namespace danaus::manager
