// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "stream.hpp"

#include <cstdint>
#include <list>
#include <memory>

namespace tenure::net
{

/** Closes a stream in a child process that continues to use the context: two readers of one connection would take each
 *  other's bytes. Asio's `notify_fork`, which a child must call, triggers it. Nothing is written, so the parent's
 *  connection is unchanged. A member of the stream. */
class ForkWatch
{
public:
    ForkWatch(Runtime const& runtime, Stream& stream);
    ForkWatch(ForkWatch const&) = delete;
    ForkWatch& operator=(ForkWatch const&) = delete;
    ~ForkWatch();

private:
    class Service;
    struct Streams;

    /// of the context
    std::shared_ptr<Streams> streams_;
    std::list<Stream*>::iterator position_;
    std::uint64_t fork_generation_;
};

} // namespace tenure::net
