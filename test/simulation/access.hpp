// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"

#include "harness/immovable.hpp"
#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <memory>

namespace tenure::simulation
{

using namespace backend; // NOLINT(google-build-using-namespace): it speaks of the seam all the time

/** The access of one process to the store: it takes the engine's requests, and shows the checker what it may know of
 * them. */
class Access : test::Immovable
{
public:
    virtual ~Access() = default;

    virtual void begin(std::uint64_t seed) = 0;
    /** For a life that begins. */
    [[nodiscard]] virtual std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime) = 0;
    /** The process has ended: its state is dropped. */
    virtual void clear() noexcept = 0;
    /** Its connections are cut. */
    virtual void cut() = 0;

    /** No request is under way, and nothing is connected or about to be. */
    [[nodiscard]] virtual bool idle() const noexcept = 0;

    /** Requests about this owner are under way. */
    [[nodiscard]] virtual bool asking(OwnerId owner) const noexcept = 0;
    [[nodiscard]] virtual bool claiming(RangeId range) const noexcept = 0;
    /** How many claims of this owner are under way. */
    [[nodiscard]] virtual unsigned claims_of(OwnerId owner) const noexcept = 0;
    /** Whether a subscription for hints about the range is in force. */
    [[nodiscard]] virtual bool listens(RangeId range) const noexcept = 0;
};

} // namespace tenure::simulation
