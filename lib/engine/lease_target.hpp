// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "core.hpp"
#include "engine/machines/lease_terms.hpp"
#include "owner_text.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/key_range.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::engine
{

/// Handler of an acquisition. The engine calls it, so it only posts its work; a refusal is known at once.
using AcquireHandler = OneShot<void(Known, error_code, Lease)>;

/** A lock or pool as the engine sees it: the contended keys and the terms of their leases. */
class LeaseTarget
{
public:
    /** @param where  how messages name the config
     *  @param share  of one acquisition; set exactly if the range has shares
     *  @throws std::invalid_argument naming field, value and rule */
    LeaseTarget(
        std::shared_ptr<Handle> handle, KeyRangePtr range, std::string where, milliseconds ttl,
        LeaseOptions const& options, std::string_view note, milliseconds reuse_after = {},
        std::optional<Share> const& share = std::nullopt)
        : handle_(std::move(handle))
        , range_(std::move(range))
        , where_(std::move(where))
        , options_(options)
        , reuse_after_(reuse_after)
        , share_(share)
        , terms_(terms_for(ttl))
        , owner_prefix_(tenure::owner_prefix(handle_->core()->worker_name(), note))
    {
        auto& core = *handle_->core();
        if (share)
            check_shares(where_, core.store_log().store(), core.capabilities().no_shares);
        check_note(where_ + "::note", note);
        check_reuse_after(where_, reuse_after_, core.store_log().store(), core.capabilities().no_quarantine);
        // in a fork nothing is acquired, and a thread that is not here may have the table for ever
        if (core.same_process())
            name_ = core.counters().names.find_or_make(*range_, terms_.ttl);
    }

    [[nodiscard]] std::shared_ptr<Handle> const& handle() const noexcept { return handle_; }
    [[nodiscard]] KeyRangePtr const& range() const noexcept { return range_; }
    [[nodiscard]] LeaseTerms const& terms() const noexcept { return terms_; }
    /** The share of an acquisition that asks for one permit; unset: the whole keys. */
    [[nodiscard]] std::optional<Share> const& share() const noexcept { return share_; }
    /** Sets how many permits one acquisition may take. */
    void set_permits(std::uint32_t most) noexcept { permits_ = most; }
    [[nodiscard]] std::uint32_t permits() const noexcept { return permits_; }
    /** Where its leases are counted. */
    [[nodiscard]] NameTable::Index name() const noexcept { return name_; }
    /** For `make_owner`. */
    [[nodiscard]] std::string const& owner_prefix() const noexcept { return owner_prefix_; }

    /** The terms for the ttl of a single acquisition.
     *  @throws std::invalid_argument */
    [[nodiscard]] LeaseTerms terms_for(milliseconds ttl) const
    {
        auto terms = make_terms(where_, ttl, options_, handle_->core()->capabilities().ttl);
        terms.reuse_after = reuse_after_;
        return terms;
    }

private:
    std::shared_ptr<Handle> handle_;
    KeyRangePtr range_;
    std::string where_;
    LeaseOptions options_;
    milliseconds reuse_after_;
    std::optional<Share> share_;
    std::uint32_t permits_ = 1;
    LeaseTerms terms_;
    std::string owner_prefix_;
    NameTable::Index name_ = 0;
};

/** Checks the options of an acquisition and starts it. On the thread of its caller.
 *  @param is_try  as for Acquisition
 *  @param slot  cancels the acquisition */
void acquire(
    std::shared_ptr<LeaseTarget> const& target, AcquireOptions const& options, bool is_try, AcquireHandler handler,
    asio::cancellation_slot slot);

/** As above, on any thread, for a caller whose context is known: see `Events::context`. */
void acquire_for(
    std::shared_ptr<void> event_context, std::shared_ptr<LeaseTarget> const& target, AcquireOptions const& options,
    bool is_try, AcquireHandler handler, asio::cancellation_slot slot);

} // namespace tenure::engine
