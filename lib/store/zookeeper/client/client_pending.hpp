// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "client_handle.hpp"

#include <zookeeper/zookeeper.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenure::zookeeper
{

/** A question that was not answered yet, in the C client's words: as the call that asks it, and as what it calls back
 * with. It stays where it is until then, because the C client writes into it. */
struct ClientHandle::Pending {
    Pending(ClientHandle* of, std::uint64_t number)
        : owner(of)
        , id(number)
    {
    }

    /** Hands it to the C client. @param acl  of what it creates  @returns ZOK, or why it will not be answered */
    [[nodiscard]] int submit(zhandle_t* handle, ACL_vector const* acl);

    ClientHandle* owner;
    std::uint64_t id;
    Question question{};
    AnswerHandler handler;
    Instant sent{};
    // of a transaction; its parts, in order
    std::array<zoo_op_t, 3> operations{};
    std::array<zoo_op_result_t, 3> results{};
    std::size_t parts = 0;
    /// which of them concerns the generation
    std::size_t generation_part = 0;
    // of a claim
    Stat node{};
    Stat generation{};

private:
    struct Calls;
};

} // namespace tenure::zookeeper
