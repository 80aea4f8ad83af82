// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Mailbox: messages, and deaths of other processes.
#include "mailbox.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tenure
{

using namespace std::chrono_literals;

void send(Descriptor const& fifo, Message const& message) noexcept
{
    static_cast<void>(::write(fifo.number(), &message, sizeof(message)) == sizeof(message));
}

Mailbox::Mailbox(std::shared_ptr<Runtime> runtime, Descriptor const& fifo, std::function<void(Message const&)> heard)
    : runtime_(std::move(runtime))
    , fifo_(runtime_->io_executor(), fifo.number())
    , heard_(std::move(heard))
{
}

Mailbox::~Mailbox()
{
    static_cast<void>(fifo_.release()); // its owner closes it
}

void Mailbox::await(Fifo& fifo, Fifo::wait_type event, std::function<void(Mailbox&, bool is_cancelled)> then)
{
    fifo.async_wait(
        event, asio::bind_executor(
                   runtime_->strand(),
                   [weak = weak_from_this(), then = std::move(then)](boost::system::error_code const& error) {
                       if (auto const self = weak.lock())
                           then(*self, error.failed());
                   }));
}

void Mailbox::listen()
{
    listens_ = true;
    if (std::exchange(waiting_, true))
        return;
    await(fifo_, Fifo::wait_read, [](Mailbox& self, bool) {
        self.waiting_ = false;
        std::vector<Message> messages(4096); // as many as it holds
        auto const bytes = ::read(self.fifo_.native_handle(), messages.data(), messages.size() * sizeof(Message));
        messages.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)) / sizeof(Message));
        for (auto const& message : messages)
            self.heard_(message);
        if (self.listens_)
            self.listen();
    });
}

void Mailbox::stop()
{
    listens_ = false;
    fifo_.cancel();
    followed_.clear();
}

void Mailbox::follow(
    std::string const& name, Descriptor fifo, std::function<bool()> is_alive, std::function<void()> died)
{
    constexpr std::size_t most_followed = 64;
    if (!listens_ || followed_.contains(name))
        return;
    if (followed_.size() >= most_followed)
        followed_.erase(followed_.begin());
    auto& followed = followed_.try_emplace(name, *runtime_).first->second;
    followed.is_alive = std::move(is_alive);
    followed.died = std::move(died);
    if (!fifo) {
        look(name, 1ms);
        return;
    }
    followed.fifo.emplace(runtime_->io_executor(), fifo.release());
    await(*followed.fifo, Fifo::wait_error, [name](Mailbox& self, bool is_cancelled) {
        if (!is_cancelled)
            self.look(name, 1ms);
    });
}

void Mailbox::look(std::string const& name, std::chrono::milliseconds pause)
{
    constexpr auto longest_pause = 64ms;
    auto const found = followed_.find(name);
    if (found == followed_.end())
        return;
    if (found->second.is_alive() && pause <= longest_pause) {
        found->second.again.after(
            pause, weak_from_this(), [name, pause](Mailbox& self) { self.look(name, 2 * pause); });
        return;
    }
    auto const died = std::move(found->second.died);
    followed_.erase(found);
    died();
}

} // namespace tenure
