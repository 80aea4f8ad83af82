// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/fault_proxy_flow.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tenure::test
{

void Flow::receive(Time now, std::string& seen)
{
    char buffer[65536];
    auto const got = ::recv(from_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) {
        end_ = got == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    chunks_.push_back({now, std::string(buffer, static_cast<std::size_t>(got))});
    seen.append(chunks_.back().bytes);
}

void Flow::swallow(Time now)
{
    std::string ignored;
    receive(now, ignored);
    chunks_.clear();
    blocked_ = false;
}

void Flow::apply(Fault const& fault, std::size_t fresh_bytes)
{
    // Older chunks were not dropped when they came: they are only held or delayed.
    if (fault.kind == Fault::Kind::drop && fresh_bytes > 0)
        chunks_.pop_back();
}

Flow::Result Flow::send(Time now, Fault& fault, std::uint64_t& passed)
{
    blocked_ = false;
    while (!chunks_.empty() && fault.kind != Fault::Kind::hold && chunks_.front().arrived + fault.delay <= now) {
        auto& bytes = chunks_.front().bytes;
        auto const size = std::min(bytes.size(), fault.reset_after.value_or(bytes.size()));
        auto const sent = ::send(to_, bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) {
            blocked_ = errno == EAGAIN;
            return blocked_ || errno == EINTR ? Result::open : Result::broken;
        }
        auto const count = static_cast<std::size_t>(sent);
        passed += count;
        bytes.erase(0, count);
        if (fault.reset_after && (*fault.reset_after -= count) == 0) {
            fault.reset_after.reset();
            return Result::broken;
        }
        if (bytes.empty())
            chunks_.pop_front();
    }
    return Result::open;
}

std::optional<Flow::Time> Flow::due(Fault const& fault) const
{
    if (chunks_.empty() || fault.kind == Fault::Kind::hold || blocked_)
        return std::nullopt;
    return chunks_.front().arrived + fault.delay;
}

} // namespace tenure::test
