// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "stream.hpp"

#include <cstdint>
#include <list>
#include <memory>

namespace tenure::net
{

/** Closes a stream in a child of this process that goes on with the context: of two who read from one connection each
 * gets what was meant for the other. Asio's `notify_fork`, which a child has to call, brings it about; nothing is
 * written, and the parent's connection stays as it is. A member of the stream. */
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
